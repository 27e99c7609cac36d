// The row of tabs: one panel is shown, arrow keys go along the row, and the address keeps which.
//
// The address says "#/store": a fragment that is no element's id, so that the browser does not
// scroll to the panel, past the title.

// views: {chat: {shown()}}, by the panels' ids; shown() is optional.
export function startTabs(views) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const nameOf = (tab) => tab.getAttribute("aria-controls");
  const asked = () => tabs.find((tab) => nameOf(tab) === location.hash.replace(/^#\/?/, ""));

  function show(tab) {
    for (const other of tabs) {
      const isChosen = other === tab;
      other.setAttribute("aria-selected", isChosen);
      other.tabIndex = isChosen ? 0 : -1;
      document.getElementById(nameOf(other)).hidden = !isChosen;
    }
    views[nameOf(tab)]?.shown?.();
  }

  function select(tab) {
    history.replaceState(null, "", `#/${nameOf(tab)}`);
    show(tab);
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
  addEventListener("hashchange", () => show(asked() ?? tabs[0]));
  if (asked()) select(asked());
  else show(tabs[0]);
}
