// From what the server explains of a prompt to the segments that the map shows. Pure.
//
// A segment: begin and end (positions), source (a key of kSources), reused (it is not computed now),
// exact, title, state, why, text and, of modules, bytes and repair. Positions that no token has are
// a segment of source "gap".

export const kSources = {
  module: "cached module",
  conversation: "kept conversation",
  text: "computed text",
  role: "marks of the template",
  repaired: "module, partly computed anew",
};

const kStates = {
  hit: "found in the store",
  memory: "held in memory",
  miss: "not there: it is encoded first, and kept",
};

function moduleSegment(run) {
  const isRepaired = (run.repair ?? "none") !== "none";
  return {
    begin: run.position, end: run.position + run.tokens,
    source: isRepaired ? "repaired" : "module",
    reused: run.state !== "miss", exact: run.exact,
    title: run.label || "the schema's own text",
    state: kStates[run.state] ?? run.state, why: run.why, bytes: run.bytes, text: run.text,
    repair: isRepaired ? run.repair : undefined,
  };
}

const kTitles = {role: "marks of the template", argument: "argument", uncached: "never kept"};

function titleOf(run) {
  const kind = kTitles[run.kind] ?? "text";
  return run.label ? `${kind} ${run.label}` : kind;
}

// The part of a run that one link of the kept chain covers, or that none does.
function pieceOf(run, begin, end, link) {
  const isKept = link !== undefined && link.state !== "miss";
  return {
    begin, end, reused: isKept, exact: true,
    text: begin === run.position ? run.text : undefined,  // where in it others begin, nobody says
    source: isKept ? "conversation" : run.kind === "role" ? "role" : "text",
    title: isKept ? `kept conversation: ${titleOf(run)}` : titleOf(run),
    state: isKept ? kStates[link.state] : "computed",
    why: isKept ? undefined : link?.why ?? "the store has nothing of it",
  };
}

function piecesOf(run, chain) {
  const pieces = [], end = run.position + run.tokens;
  for (let begin = run.position; begin < end;) {
    const link = chain.find((l) => l.position <= begin && begin < l.position + l.tokens);
    const next = chain.find((l) => l.position > begin);
    const until = Math.min(end, link ? link.position + link.tokens : next?.position ?? end);
    pieces.push(pieceOf(run, begin, until, link));
    begin = until;
  }
  return pieces;
}

// Neighbours of one run that differ in nothing but their link are one.
function merged(pieces) {
  const out = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last && last.source === piece.source && last.why === piece.why) last.end = piece.end;
    else out.push({...piece});
  }
  return out;
}

export function segmentsOf(explained) {
  const segments = [];
  let end = 0;
  for (const run of [...explained.runs].sort((a, b) => a.position - b.position)) {
    if (run.position > end)
      segments.push({begin: end, end: run.position, source: "gap", title: "no tokens", exact: true});
    segments.push(...(run.kind === "cached" ? [moduleSegment(run)] : merged(piecesOf(run, explained.chain ?? []))));
    end = Math.max(end, run.position + run.tokens);
  }
  return segments;
}
