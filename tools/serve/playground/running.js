// What is under way in a view: one thing at a time, which the view's Stop button and Esc end.

export class Running {
  #stop;
  #controller = null;

  constructor(panel) {
    this.#stop = panel.querySelector("[name=stop]");
    this.#stop.addEventListener("click", () => this.stop());
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.stop();
    });
  }

  get isBusy() {
    return this.#controller !== null;
  }

  stop() {
    this.#controller?.abort();
  }

  // work(signal); that it was stopped is no error.
  async run(work) {
    const controller = this.#controller = new AbortController();
    this.#stop.disabled = false;
    try {
      await work(controller.signal);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      this.#controller = null;
      this.#stop.disabled = true;
    }
  }
}

// Calls act() when nothing has asked for it for a while.
export function whenQuiet(act, ms = 350) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };
}
