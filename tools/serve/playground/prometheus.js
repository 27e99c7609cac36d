// Prometheus' text format, as far as this server writes it. Pure.

const kSample = /^promptcache_(\w+)(?:\{(.*)\})? (\S+)$/;
const kLabel = /(\w+)="((?:[^"\\]|\\.)*)"/g;

// The page's samples: {name (without "promptcache_"), labels: {}, value}.
function samplesOf(page) {
  return page.split("\n").map((line) => kSample.exec(line)).filter(Boolean).map(([, name, labels, value]) => ({
    name, value: Number(value),
    labels: Object.fromEntries([...(labels ?? "").matchAll(kLabel)].map((m) => [m[1], m[2]])),
  }));
}

export class Metrics {
  constructor(page) {
    this.samples = samplesOf(page);
  }

  all(name) {
    return this.samples.filter((sample) => sample.name === name);
  }

  value(name) {
    return this.all(name)[0]?.value ?? 0;
  }
}
