// Numbers as people read them.

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"];
const kPlain = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const kShort = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});

export function count(n) {
  return kPlain.format(n ?? 0);
}

// "1 token", "2 tokens"
export function counted(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function bytes(n) {
  let unit = 0;
  for (; n >= 1024 && unit + 1 < kUnits.length; n /= 1024) ++unit;
  return `${kShort.format(n)} ${kUnits[unit]}`;
}

export function milliseconds(ms) {
  return ms >= 1000 ? `${kShort.format(ms / 1000)} s` : `${kShort.format(ms)} ms`;
}

export function rate(perSecond) {
  return `${kShort.format(perSecond)}/s`;
}

export function times(ratio) {
  return kShort.format(ratio);
}

// All of them only where it is all of them.
export function percent(part, whole) {
  if (!whole) return "0 %";
  const share = (100 * part) / whole;
  return `${part < whole ? Math.min(99, Math.round(share)) : 100} %`;
}

export function ago(ms) {
  const seconds = Math.max(0, (Date.now() - ms) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(ms).toLocaleDateString("en-CA");
}
