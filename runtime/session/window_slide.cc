#include "runtime/session/window_slide.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "modules/module_image.h"

namespace pc {
namespace {

// Tokens that stand one behind the other, and who has their states.
struct Piece {
  Stretch at;
  std::uint32_t attached = 0;         // its number among the timeline's
  const Chain::Link* link = nullptr;  // null: a module
  std::uint32_t first_computed = 0;   // of a link that is not attached
};

const Chain::Link* attached_link(const Chain& chain, Position position) {
  for (const Chain::Link& link : chain.links())
    if (link.attached && link.position == position) return &link;
  return nullptr;
}

Error has_gaps() {
  return error(Code::kUnsupported,
               "the conversation cannot go on beyond its window: tokens of its modules were "
               "computed anew (repair), and these cannot be moved; begin another session");
}

Result<std::vector<Piece>> pieces_of(const Conversed& from) {
  std::vector<Piece> pieces;
  std::uint32_t number = 0, first_computed = 0;
  for (const AttachedTokens& a : from.timeline.attached()) {
    if (a.hides) return has_gaps();
    const Stretch at{a.position, a.position + static_cast<Position>(a.n_tokens)};
    pieces.push_back({at, number++, attached_link(from.chain, a.position)});
  }
  for (const Chain::Link& link : from.chain.links()) {
    if (!link.positions.empty()) return has_gaps();
    if (link.attached) continue;
    PC_EXPECT(link.n_missing() == 0);
    pieces.push_back({{link.position, link.end()}, 0, &link, first_computed});
    first_computed += link.n_computed;
  }
  std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.at.begin; });
  return pieces;
}

// A module in memory of what the timeline computed.
Result<ResidentHandle> copy_of(const Conversed& from, const Piece& piece) {
  PC_TRY(ModuleImage image, ModuleImage::create(Chain::identity(*piece.link, from.identity)));
  PC_CHECK_OK(from.timeline.read(piece.first_computed, piece.link->n_computed, image.planes(0)));
  PC_TRY(ModuleHandle module, std::move(image).seal());
  return from.backend.resident(std::move(module));
}

// What names all that a piece stood behind.
Digest place_of(const Conversed& from, const Piece& piece) {
  if (piece.link) return piece.link->context;
  return from.timeline.residents()[piece.attached]->module().key().digest;
}

class Builder {
 public:
  Builder(const Conversed& from, const Gone& gone, BackendTimeline timeline)
      : from_(from), gone_(gone), to_{std::move(timeline), Chain(from.identity)} {}

  Status add(const Piece& piece, Position end) {
    const auto left = gone_.left_of({piece.at.begin, std::min(piece.at.end, end)});
    if (left.empty()) return ok();
    ResidentHandle resident;
    AttachedTokens from{0, 0, 0, piece.at.begin, false};
    if (piece.link && !piece.link->attached) {
      PC_TRY(resident, copy_of(from_, piece));
    } else {
      resident = from_.timeline.residents()[piece.attached];
      from = from_.timeline.attached()[piece.attached];
    }
    for (const Stretch& part : left) PC_CHECK_OK(attach(piece, resident, from, part));
    return ok();
  }

  Slid done() && { return std::move(to_); }

 private:
  Status attach(const Piece& piece, const ResidentHandle& resident, const AttachedTokens& from,
                Stretch part) {
    const auto skipped = static_cast<std::uint32_t>(part.begin - piece.at.begin);
    const auto n = static_cast<std::uint32_t>(part.size());
    const Position to = gone_.moved(part.begin);
    PC_CHECK_OK(
        to_.timeline.attach(resident, {from.segment, from.first + skipped, n, to, nullptr}));
    if (std::exchange(moved_by_, part.begin - to) != part.begin - to)
      to_.chain.slide(place_of(from_, piece));
    if (piece.link)
      to_.chain.append_held(std::span(piece.link->tokens).subspan(skipped, n), to);
    else
      to_.chain.attach(resident->module().key(), from.segment, n, to);
    return ok();
  }

  const Conversed& from_;
  const Gone& gone_;
  Slid to_;
  Position moved_by_ = 0;
};

}  // namespace

Result<Slid> slide_window(const Conversed& conversed, const Gone& gone, Position end) {
  PC_TRY(const std::vector<Piece> pieces, pieces_of(conversed));
  PC_TRY(BackendTimeline timeline, conversed.backend.timeline());
  Builder builder(conversed, gone, std::move(timeline));
  for (const Piece& piece : pieces) PC_CHECK_OK(builder.add(piece, end));
  return std::move(builder).done();
}

}  // namespace pc
