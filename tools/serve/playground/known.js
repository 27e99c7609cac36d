// What this page has been told of the store's files, by their keys: the store has states and no
// names, but what explains a prompt or describes a schema says which file is what. Forgotten with
// the page.

const kMostWords = 80;  // characters of a text
const kMostKeys = 5000;

const files = new Map();  // key -> {schema, module, words, model}

function learn(key, facts) {
  if (!key) return;
  const known = files.get(key) ?? {};
  files.delete(key);  // the latest stands last
  files.set(key, {...known, ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value))});
  if (files.size > kMostKeys) files.delete(files.keys().next().value);
}

function beginning(text) {
  const words = text.trim().replace(/\s+/g, " ");
  return words.length > kMostWords ? `${words.slice(0, kMostWords)} …` : words;
}

// The texts of these positions, without the template's marks where there is anything else.
function wordsOf(runs, begin, end) {
  const inside = runs.filter((run) => run.position < end && run.position + run.tokens > begin);
  const said = inside.filter((run) => run.kind !== "role");
  const [first, ...rest] = said.length ? said : inside;
  if (!first) return "";
  const words = beginning([first, ...rest].map((run) => run.text ?? "").join(" "));
  return first.position < begin ? `amid “${words}”` : words;  // where in it, nobody says
}

// explained: of /v1/prompt_cache/explain or /pml/explain, by this model.
export function learnPrompt(explained, model) {
  const {schema, runs, chain} = explained;
  for (const run of runs)
    learn(run.key, {schema, module: run.label, words: beginning(run.text ?? ""), model});
  for (const link of chain ?? [])
    learn(link.key, {schema: "conversation", words: wordsOf(runs, link.position, link.position + link.tokens), model});
}

// description: of a schema, as /pml/schemas/NAME has it.
export function learnSchema({name, description}, model) {
  for (const {key, path} of description.modules ?? [])
    learn(key, {schema: name, module: path || "the schema's own text", model});
  for (const {key, name: scaffold} of description.scaffolds ?? [])
    learn(key, {schema: name, module: scaffold, model});
}

export function fileOf(key) {
  return files.get(key) ?? {};
}

// listed: files of the store, {key, model}. -> which model has which digest
export function modelNames(listed) {
  return new Map(listed.map((file) => [file.model, fileOf(file.key).model]).filter(([, name]) => name));
}
