// The row of tabs: one panel is shown, arrow keys go along the row, and the address keeps which.

// views: {chat: {shown()}}, by the panels' ids; shown() is optional.
export function startTabs(views) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const nameOf = (tab) => tab.getAttribute("aria-controls");

  function select(tab) {
    for (const other of tabs) {
      const isChosen = other === tab;
      other.setAttribute("aria-selected", isChosen);
      other.tabIndex = isChosen ? 0 : -1;
      document.getElementById(nameOf(other)).hidden = !isChosen;
    }
    history.replaceState(null, "", `#${nameOf(tab)}`);
    views[nameOf(tab)]?.shown?.();
  }

  const steps = {ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity};
  function move(event) {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.indexOf(event.currentTarget) + step, n = tabs.length;
    const to = Number.isFinite(at) ? (at + n) % n : step > 0 ? n - 1 : 0;
    select(tabs[to]);
    tabs[to].focus();
  }

  for (const tab of tabs) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", move);
  }
  select(tabs.find((tab) => `#${nameOf(tab)}` === location.hash) ?? tabs[0]);
}
