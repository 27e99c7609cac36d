#include "runtime/cpu/states/timeline.h"

#include <algorithm>
#include <utility>

#include "base/status.h"                     // PC_EXPECT
#include "runtime/cpu/states/key_centres.h"  // first_centre
#include "runtime/cpu/states/kv_row.h"

namespace pc {
namespace {

// Of a run's token, from its first one on.
std::int32_t offset_of(const pc_run& run, std::uint32_t token) {
  return run.positions ? run.positions[token] - run.position : static_cast<std::int32_t>(token);
}

}  // namespace

void Timeline::attach(const KvSegment& segment, Hidden hidden) {
  attached_.push_back({segment, std::move(hidden)});
  if (attached_.back().hidden) attached_.back().segment.hidden = attached_.back().hidden->data();
}

// Does the run go on where the last part ends, in memory of the same kind?
bool Timeline::continues(const pc_run& run) const {
  if (!run.extend || run.planes || run.positions || parts_.empty()) return false;
  const Part& last = parts_.back();
  if (!last.positions.empty()) return false;
  const auto n = static_cast<std::int32_t>(last.n_tokens);
  return last.page != kForeign && last.position + n == run.position &&
         last.key_position + n == run.key_position;
}

void Timeline::append(const pc_run& run, std::uint32_t first, std::uint32_t n,
                      std::vector<KvSlot>* slots) {
  if (n == 0) return;
  clear_cut_rows();
  const bool starts = first == 0 && !continues(run);
  if (!starts && parts_.back().page != kForeign) own_last_page();
  for (std::uint32_t i = first; i < first + n; ++i) {
    if ((starts && i == 0) || parts_.back().n_tokens == parts_.back().planes.n_tokens)
      open_part(run, i);
    if (run.positions) parts_.back().positions.push_back(run.positions[i]);
    take(parts_.back(), slots);
  }
}

// One more token of the part.
void Timeline::take(Part& part, std::vector<KvSlot>* slots) {
  const std::uint32_t block = part.n_tokens / kKvBlockTokens,
                      token = part.n_tokens % kKvBlockTokens;
  if (token == 0 && part.page != kForeign) pages_.back()->begin_block(part.first_block + block);
  slots->push_back({part.planes.from_block(block), token, first_centre(part.key_position) + block});
  ++part.n_tokens;
  ++n_tokens_;
}

// A part for the run's tokens from `first` on: where the run says, in the last page's next
// block, or in a new page.
void Timeline::open_part(const pc_run& run, std::uint32_t first) {
  if (parts_.size() == parts_.capacity()) parts_.reserve(2 * parts_.size() + 1);
  Part part{kForeign, {}};  // for which there is memory: a page has a part, or is not there
  const std::int32_t offset = offset_of(run, first);
  part.position = run.position + offset;
  part.key_position = run.key_position + offset;
  if (run.planes) {
    PC_EXPECT(first == 0);  // there is room for all of the run
    const pc_kv_planes& p = *run.planes;
    part.planes = {{static_cast<std::byte*>(p.data), geometry_, p.plane_blocks, p.first_block},
                   run.n_tokens};
  } else {
    const std::uint32_t n_used = used_blocks_of_last_page();
    if (n_used == KvPage::kBlocks)
      pages_.push_back(std::make_shared<KvPage>(*geometry_));
    else
      own_last_page();
    part.page = static_cast<std::uint32_t>(pages_.size() - 1);
    part.first_block = n_used % KvPage::kBlocks;
    part.planes = pages_.back()->planes().from_block(part.first_block);
    part.planes.n_tokens = (KvPage::kBlocks - part.first_block) * kKvBlockTokens;
  }
  parts_.push_back(part);
}

// kBlocks where there is no page yet.
std::uint32_t Timeline::used_blocks_of_last_page() const {
  const auto last = std::find_if(parts_.rbegin(), parts_.rend(),
                                 [](const Part& part) { return part.page != kForeign; });
  if (last == parts_.rend()) return KvPage::kBlocks;
  return last->first_block + kv_blocks(last->n_tokens);
}

// Makes the last page one that no other timeline holds.
void Timeline::own_last_page() {
  std::shared_ptr<KvPage>& page = pages_.back();
  // Pages are read and written in append() and by steps alone, which come one at a time: a
  // timeline that let go of this one on another thread has read it before.
  if (page.use_count() == 1) return;
  auto copy = std::make_shared<KvPage>(*geometry_);
  copy->copy_from(*page, used_blocks_of_last_page());
  page = std::move(copy);
  for (Part& part : parts_) {
    if (part.page + std::size_t{1} != pages_.size()) continue;
    const std::uint32_t room = part.planes.n_tokens;
    part.planes = page->planes().from_block(part.first_block);
    part.planes.n_tokens = room;
  }
}

void Timeline::rewind(std::uint32_t n_tokens, std::uint32_t n_attached) {
  if (n_attached < attached_.size())
    attached_.erase(attached_.begin() + n_attached, attached_.end());
  n_tokens = std::min(n_tokens, n_tokens_);
  const bool cuts = n_tokens != n_tokens_;
  // An append() that failed may have left a part without tokens.
  while (!parts_.empty() && parts_.back().n_tokens <= n_tokens_ - n_tokens) {
    n_tokens_ -= parts_.back().n_tokens;
    parts_.pop_back();
  }
  if (!parts_.empty()) {
    Part& last = parts_.back();
    last.n_tokens -= n_tokens_ - n_tokens;
    if (!last.positions.empty()) last.positions.resize(last.n_tokens);
  }
  n_tokens_ = n_tokens;
  drop_unused_pages();
  if (cuts) is_cut_ = !parts_.empty() && parts_.back().page != kForeign;
}

void Timeline::drop_unused_pages() {
  std::size_t n_pages = 0;
  for (const Part& part : parts_)
    if (part.page != kForeign) n_pages = part.page + std::size_t{1};
  pages_.resize(n_pages);
}

// Leaves no row behind the last part's end that is not zero. A run's own planes are not written:
// nothing is appended to them.
void Timeline::clear_cut_rows() {
  if (!is_cut_) return;
  const Part& last = parts_.back();
  const std::uint32_t n_rows = last.n_tokens % kKvBlockTokens;
  if (n_rows != 0) {
    own_last_page();
    clear_rows(last.planes.from_block(last.n_tokens / kKvBlockTokens), n_rows);
  }
  is_cut_ = false;
}

bool Timeline::read(std::uint32_t first, std::uint32_t n, const KvPlanes& planes) const {
  std::uint32_t begin = 0, n_read = 0;
  std::int32_t position = 0;
  for (const Part& part : parts_) {
    const std::uint32_t end = begin + part.n_tokens;
    const bool wanted = n_read != 0 ? n_read < n : begin == first && n != 0;
    if (wanted) {
      const bool goes_on =
          n_read == 0 || (n_read % kKvBlockTokens == 0 && part.position == position);
      if (!goes_on || !part.positions.empty()) return false;
      const std::uint32_t n_rows = std::min(part.n_tokens, n - n_read);
      const KvPlanes to = planes.from_block(n_read / kKvBlockTokens);
      if (planes.geometry->type() == geometry_->type())
        copy_blocks(part.planes, to, kv_blocks(n_rows));
      else
        repack_rows(segment_of(part), n_rows, to);
      n_read += n_rows;
      position = part.position + static_cast<std::int32_t>(part.n_tokens);
    }
    begin = end;
  }
  return n_read == n;
}

void Timeline::read_values(std::uint32_t index, std::uint32_t layer, float* values) const {
  PC_EXPECT(index < n_tokens_);
  auto part = parts_.begin();
  for (; index >= part->n_tokens; ++part) index -= part->n_tokens;
  read_kv_values(segment_of(*part), index, layer, values);
}

KvSegment Timeline::segment_of(const Part& part) const {
  const KvPlanes& p = part.planes;
  return {{p.data, geometry_, p.plane_blocks, p.first_block},
          0,
          part.n_tokens,
          part.position,
          part.key_position,
          nullptr,
          part.positions.empty() ? nullptr : part.positions.data()};
}

void Timeline::add_segments(std::vector<KvSegment>* segments) const {
  for (const Attached& attached : attached_) segments->push_back(attached.segment);
  for (const Part& part : parts_) segments->push_back(segment_of(part));
}

}  // namespace pc
