// The server's routes. Addresses are relative to the page, so that it works behind a proxy that
// serves it elsewhere. What the server refuses is thrown as ApiError, with its sentence.

export class ApiError extends Error {
  // error: of the answer's JSON; line and column where it is about a place in a document.
  constructor(status, error) {
    super(error?.message ?? `the server answered ${status}`);
    this.status = status;
    this.line = error?.line;
    this.column = error?.column;
  }
}

// What the server asks for where it has keys; kept in this page alone.
let key = "";

export function setKey(value) {
  key = value;
}

// Which model answers; "": the server's first.
let model = "", firstModel = "";

export function setModel(name) {
  model = name;
}

export function setFirstModel(name) {
  firstModel = name;
}

// Its name; "" until the server has told it.
export function modelName() {
  return model || firstModel;
}

async function failed(response) {
  if (response.status === 401) document.dispatchEvent(new Event("keyneeded"));
  const body = await response.json().catch(() => null);
  return new ApiError(response.status, body?.error);
}

async function request(method, path, body, signal) {
  const asked = model && body ? {...body, model} : body;
  const query = model && !body ? `?model=${encodeURIComponent(model)}` : "";
  const response = await fetch(path + query, {
    method, signal,
    headers: {...(asked && {"content-type": "application/json"}), ...(key && {authorization: `Bearer ${key}`})},
    body: asked ? JSON.stringify(asked) : undefined,
  }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, {message: "the server cannot be reached"});
  });
  if (!response.ok) throw await failed(response);
  return response;
}

export async function get(path, signal) {
  return (await request("GET", path, null, signal)).json();
}

export async function getText(path, signal) {
  return (await request("GET", path, null, signal)).text();
}

export async function post(path, body, signal) {
  return (await request("POST", path, body, signal)).json();
}

export async function remove(path) {
  await request("DELETE", path);
}

// "event: a\ndata: 1" -> {name: "a", data: "1"}
function eventOf(block) {
  const event = {name: "", data: ""};
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event.name = line.slice(7);
    if (line.startsWith("data: ")) event.data += line.slice(6);
  }
  return event;
}

// The events of a stream as they come: {name, data}, data from JSON. Leaving the loop early ends
// the answer.
export async function* events(path, body, signal) {
  const response = await request("POST", path, body, signal);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    for (const {name, data} of blocks.map(eventOf)) {
      if (!data || data === "[DONE]") continue;
      const value = JSON.parse(data);
      if (value.error) throw new ApiError(response.status, value.error);
      yield {name, data: value};
    }
  }
}
