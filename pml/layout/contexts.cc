#include "pml/layout/contexts.h"

#include <algorithm>
#include <span>
#include <utility>

namespace pc::pml {
namespace {

using What = FlatStep::What;

// A job's steps under construction.
class Steps {
 public:
  Steps(const Layout& layout, JobSpec& spec) : layout_(layout), spec_(spec) {}

  void item(std::uint32_t item, bool keep) {
    const Item it = layout_.items[item];
    keep = keep && it.kind == ItemKind::kPiece && !layout_.pieces[it.index].fresh;
    spec_.steps.push_back({item, kNone, keep});
  }
  void stand_in(std::uint32_t index) {
    spec_.steps.push_back({kNone, kNone, false, index});
    ++spec_.n_stand_ins;
  }
  void open(const TurnTokens& turn) { markup(at_start() ? turn.opening : turn.open); }
  void close(const TurnTokens& turn) { markup(turn.close); }

  // Drops the steps at the end that no kept step sees.
  void finish() {
    while (!spec_.steps.empty() && !spec_.steps.back().keep) {
      if (spec_.steps.back().markup != kNone) spec_.markup.pop_back();
      spec_.steps.pop_back();
    }
  }

 private:
  // Does nothing but BOS stand before the next step?
  bool at_start() const {
    if (spec_.steps.empty()) return !layout_.bos;
    if (spec_.steps.size() > 1 || spec_.steps[0].item == kNone || !layout_.bos) return false;
    const Item item = layout_.items[spec_.steps[0].item];
    return item.kind == ItemKind::kPiece &&
           layout_.pieces[item.index].tokens == Tokens{*layout_.bos};
  }
  void markup(const Tokens& tokens) {
    if (tokens.empty()) return;
    spec_.steps.push_back({kNone, static_cast<std::uint32_t>(spec_.markup.size()), false});
    spec_.markup.push_back(tokens);
  }

  const Layout& layout_;
  JobSpec& spec_;
};

// A pass over the prompt without the text of other modules, and without those turns of
// the prompt that hold nothing of what is left.
template <class Holds>  // bool(std::uint32_t module)
void filter(const Layout& layout, const FlatPrompt& flat, const std::vector<TurnTokens>& turns,
            std::uint32_t first_kept, const Holds& holds, JobSpec& spec) {
  Steps steps(layout, spec);
  std::vector<std::uint32_t> inside = {kRoot};
  std::uint32_t waits = kNone, opened = kNone;  // of flat.turns
  bool keeps = false;
  for (const FlatStep& step : flat.steps) {
    switch (step.what) {
      case What::kOpenModule:
        inside.push_back(step.index);
        break;
      case What::kCloseModule:
        inside.pop_back();
        break;
      case What::kOpenTurn:
        waits = step.index;
        break;
      case What::kText:
        break;
      case What::kPiece:
      case What::kSlot:
        if (!holds(inside.back())) break;
        if (waits != kNone) steps.open(turns[opened = std::exchange(waits, kNone)]);
        keeps = keeps || step.item == first_kept;
        steps.item(step.item, keeps);
        break;
      case What::kCloseTurn:
        if (step.item != kNone && holds(inside.back())) steps.item(step.item, false);
        if (opened == step.index) steps.close(turns[step.index]);
        waits = opened = kNone;
        break;
    }
  }
  steps.finish();
}

// The jobs with attend=prefix, slots or self.
class ModuleContexts {
 public:
  ModuleContexts(const Layout& layout, const FlatPrompt& flat, const std::vector<TurnTokens>& turns,
                 const std::vector<std::uint32_t>& slots)
      : layout_(layout), flat_(flat), turns_(turns), slots_(slots) {}

  std::vector<JobSpec> plan();

 private:
  // One module that is open at this place of the prompt.
  struct Frame {
    std::uint32_t module = kRoot;
    std::uint32_t slot = 0;      // so many stand-ins stand before it
    std::uint32_t n_inside = 0;  // that were opened in it so far
    std::vector<JobStep> own;    // its own text so far
    std::uint32_t turn = kNone;  // of the prompt, opened directly in it
    std::size_t turn_begin = 0;  // where in `own`
    JobSpec spec;                // its job's steps so far
    bool opened = false;         // has the job seen the turn's opening?
  };

  void open_module(std::uint32_t module);
  void close_module();
  void add_item(std::uint32_t item);
  void add_stand_ins(const Frame& frame, Steps& steps) const;

  const Layout& layout_;
  const FlatPrompt& flat_;
  const std::vector<TurnTokens>& turns_;
  const std::vector<std::uint32_t>& slots_;
  std::vector<Frame> frames_;
  std::vector<JobSpec> jobs_;
};

std::vector<JobSpec> ModuleContexts::plan() {
  frames_.emplace_back();
  for (const FlatStep& step : flat_.steps) {
    Frame& frame = frames_.back();
    switch (step.what) {
      case What::kOpenModule:
        open_module(step.index);
        break;
      case What::kCloseModule:
        close_module();
        break;
      case What::kOpenTurn:
        frame.turn = step.index;
        frame.turn_begin = frame.own.size();
        break;
      case What::kCloseTurn:
        if (step.item != kNone) add_item(step.item);
        if (frame.opened) Steps(layout_, frame.spec).close(turns_[step.index]);
        if (flat_.turns[step.index].node) frame.turn = kNone, frame.opened = false;
        break;
      case What::kPiece:
      case What::kSlot:
        add_item(step.item);
        break;
      case What::kText:
        break;
    }
  }
  close_module();
  return std::move(jobs_);
}

void ModuleContexts::add_item(std::uint32_t item) {
  Frame& frame = frames_.back();
  Steps steps(layout_, frame.spec);
  const bool sees_turns = sees_prefix(layout_.attend) || frame.module == kRoot;
  if (sees_turns && frame.turn != kNone && !std::exchange(frame.opened, true))
    steps.open(turns_[frame.turn]);
  steps.item(item, true);
  frame.own.push_back({item, kNone, false});
}

// What the module sees before its own text.
void ModuleContexts::open_module(std::uint32_t module) {
  Frame frame;
  frame.module = module;
  frame.spec.subject = module;
  frame.slot = frames_.back().n_inside++;
  if (frames_.size() == 1 && !slots_.empty()) frame.slot = slots_[frame.slot];
  if (sees_prefix(layout_.attend) && layout_.modules[module].stored()) {
    Steps steps(layout_, frame.spec);
    for (const Frame& around : frames_) {
      add_stand_ins(around, steps);
      for (std::size_t i = 0; i < around.own.size(); ++i) {
        if (around.turn != kNone && i == around.turn_begin) steps.open(turns_[around.turn]);
        steps.item(around.own[i].item, false);
      }
      if (around.turn != kNone && around.turn_begin == around.own.size())
        steps.open(turns_[around.turn]);
    }
    add_stand_ins(frame, steps);
  }
  frames_.push_back(std::move(frame));
}

// Neither the module's own text nor that of one around it stands in.
void ModuleContexts::add_stand_ins(const Frame& frame, Steps& steps) const {
  if (flat_.is_schema || layout_.stand_ins.empty()) return;
  const bool are_own = layout_.stand_ins.front().module != kNone;
  const auto n_slots = static_cast<std::uint32_t>(layout_.stand_ins.size()) + 1;
  std::uint32_t n = are_own ? std::min(frame.slot, kOwnStandIns) : frame.slot % n_slots;
  const auto is_open = [&](std::uint32_t module) {
    return module == frame.module ||
           std::ranges::any_of(frames_, [&](const Frame& f) { return f.module == module; });
  };
  for (std::uint32_t i = 0; i < layout_.stand_ins.size() && n > 0; ++i) {
    if (are_own && is_open(layout_.stand_ins[i].module)) continue;
    steps.stand_in(i);
    --n;
  }
}

void ModuleContexts::close_module() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (!layout_.modules[frame.module].stored()) return;
  Steps(layout_, frame.spec).finish();
  jobs_.push_back(std::move(frame.spec));
}

// attend=schema: the schema up to the module's end; of each union the member
// around the module, else the default one. No prompt changes it.
class SchemaPass {
 public:
  explicit SchemaPass(const Layout& layout) : layout_(layout) {
    for (const Union& u : layout.unions) chosen_.push_back(u.default_member);
  }

  JobSpec job(std::uint32_t index) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> replaced;
    for (std::uint32_t i = index; i != kNone; i = layout_.modules[i].parent) {
      const std::uint32_t u = layout_.modules[i].union_id;
      if (u != kNone) replaced.emplace_back(u, std::exchange(chosen_[u], i));
    }
    JobSpec spec;
    spec.subject = index;
    walk(index, Steps(layout_, spec));
    Steps(layout_, spec).finish();
    for (const auto& [u, member] : replaced) chosen_[u] = member;
    return spec;
  }

 private:
  void walk(std::uint32_t index, Steps steps) const {
    for (std::uint32_t i = 0; i <= layout_.modules[index].own.back(); ++i) {
      const Item item = layout_.items[i];
      if (item.kind == ItemKind::kOpenUnion) {
        const std::uint32_t member = chosen_[item.index];
        i = member == kNone ? layout_.unions[item.index].close_item
                            : layout_.modules[member].open_item;
      } else if (item.kind == ItemKind::kCloseModule &&
                 layout_.modules[item.index].union_id != kNone) {
        i = layout_.unions[layout_.modules[item.index].union_id].close_item;
      } else if (item.kind == ItemKind::kPiece) {
        steps.item(i, layout_.pieces[item.index].module == index);
      } else if (item.kind == ItemKind::kSlot) {
        steps.item(i, false);
      }
    }
  }

  const Layout& layout_;
  std::vector<std::uint32_t> chosen_;  // [unions] the member that a pass sees
};

std::vector<JobSpec> schema_jobs(const Layout& layout, const FlatPrompt& flat) {
  SchemaPass pass(layout);
  std::vector<JobSpec> jobs;
  if (layout.modules[kRoot].stored()) jobs.push_back(pass.job(kRoot));
  for (const FlatStep& step : flat.steps)
    if (step.what == What::kCloseModule && layout.modules[step.index].stored())
      jobs.push_back(pass.job(step.index));
  return jobs;
}

}  // namespace

std::vector<JobSpec> module_jobs(const Layout& layout, const FlatPrompt& flat,
                                 const std::vector<TurnTokens>& turns,
                                 const std::vector<std::uint32_t>& slots) {
  std::vector<JobSpec> jobs = layout.attend == Attend::kSchema
                                  ? schema_jobs(layout, flat)
                                  : ModuleContexts(layout, flat, turns, slots).plan();
  std::sort(jobs.begin(), jobs.end(),
            [](const JobSpec& a, const JobSpec& b) { return a.subject < b.subject; });
  return jobs;
}

namespace {

// listed: in order of their places in the schema.
JobSpec joint_job(const Layout& layout, const FlatPrompt& flat,
                  const std::vector<TurnTokens>& turns, std::span<const std::uint32_t> listed,
                  std::uint32_t subject) {
  const auto is_listed = [&](std::uint32_t m) {
    return std::binary_search(listed.begin(), listed.end(), m);
  };
  JobSpec spec;
  spec.scaffold = true;
  spec.subject = subject;
  std::vector<std::uint32_t> inside = {kRoot};
  for (const FlatStep& step : flat.steps) {
    if (step.what == What::kOpenModule) inside.push_back(step.index);
    if (step.what == What::kCloseModule) inside.pop_back();
    if (step.what != What::kPiece || !is_listed(inside.back())) continue;
    if (layout.pieces[step.index].fresh) continue;
    const auto holds = [&](std::uint32_t m) { return m == kRoot || is_listed(m); };
    filter(layout, flat, turns, step.item, holds, spec);
    break;
  }
  return spec;
}

}  // namespace

JobSpec scaffold_job(const Layout& layout, const FlatPrompt& flat,
                     const std::vector<TurnTokens>& turns, std::uint32_t index) {
  return joint_job(layout, flat, turns, layout.scaffolds[index].modules, index);
}

JobSpec together_job(const Layout& layout, const FlatPrompt& flat,
                     const std::vector<TurnTokens>& turns) {
  std::vector<std::uint32_t> listed;
  for (const FlatStep& step : flat.steps)
    if (step.what == What::kOpenModule && layout.modules[step.index].stored())
      listed.push_back(step.index);
  std::sort(listed.begin(), listed.end());
  if (listed.size() < 2) return {};
  return joint_job(layout, flat, turns, listed, kNone);
}

}  // namespace pc::pml
