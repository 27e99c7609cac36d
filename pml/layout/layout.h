// The tokens and positions of a schema: its text encoded piece by piece, in
// document order, with the place of every module, union, parameter and turn.
//
// Every token belongs to one owner: the nearest enclosing module, or the
// schema itself (module 0, the root, whose text is anonymous and part of every
// prompt). A piece is a longest run of one owner's tokens with no parameter,
// nested module or union between; it is tokenised as one text. Own text,
// parameters and turns' borders divide what a module holds into sections;
// modules of one section stand in the order in which a prompt imports them.
//
// Invariants:
//   1. modules[0] is the root; a module comes after its parent, in document order;
//   2. items hold every piece and slot once, opens and closes balanced;
//   3. no piece is empty; a slot's filler has exactly `len` tokens;
//   4. schema positions count from 0 in document order; members of a union
//      start together, and what follows the union starts after the longest;
//      a slot takes `len` positions whatever fills it.
//
// Immutable value. Threads: const, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pml/syntax/schema.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// A schema with attend=slots that declares no stand-ins uses the text of its first four modules as
// stand-ins: slots were measured with questions about that many documents. A module with more
// modules before it sees no more stand-ins than these.
inline constexpr std::uint32_t kOwnStandIns = 4;

inline constexpr std::uint32_t kNone = UINT32_MAX;  // no such module, union or member
inline constexpr std::uint32_t kRoot = 0;           // the root's index in Layout::modules

// Tokens and parameter room of one schema: 64 MiB of token ids.
inline constexpr std::uint64_t kMaxLayoutTokens = std::uint64_t{1} << 24;

struct Piece {
  std::uint32_t module = kRoot;  // owner
  Tokens tokens;
  Position position = 0;  // schema position of tokens[0]
  // The closing of a turn that a prompt may write into: computed in every
  // prompt, behind what it wrote, and in no module's file.
  bool fresh = false;
};

struct Slot {
  std::uint32_t module = kRoot;  // owner; never the root
  std::string name;
  std::uint32_t len = 0;  // room in tokens
  Tokens filler;          // [len]: stands here while the module is encoded
  Position position = 0;  // schema position of the room's first token
};

struct Module {
  std::string name;                // "paris"; "" for the root
  std::string path;                // "europe/paris"; "" for the root
  std::uint32_t parent = kNone;    // index of the enclosing module; kNone for the root
  std::uint32_t union_id = kNone;  // the union it is a member of
  std::uint32_t section = 0;       // of its parent, counted from 0
  bool cache = true;               // it has a file of its own
  bool may_be_stored = true;       // nothing says cache="false" of it
  Repair repair;                   // its own, or that of what it stands in
  bool own_repair = false;         // one of these says so, not the schema
  Position position = 0;           // schema position of its start
  std::uint32_t extent = 0;      // schema positions from its start to its end, nested ones included
  std::uint32_t n_tokens = 0;    // own tokens: no parameter room, no nested modules
  std::uint32_t n_stored = 0;    // of these, the ones its file holds
  std::uint32_t open_item = 0;   // of its kOpenModule in Layout::items
  std::uint32_t close_item = 0;  // of its kCloseModule
  std::vector<std::uint32_t> own;    // its own pieces and slots: indices into Layout::items
  std::vector<std::uint32_t> slots;  // indices into Layout::slots

  // Is there a file of its states?
  bool stored() const { return cache && n_stored > 0; }
};

struct Union {
  std::uint32_t parent = kRoot;          // enclosing module
  std::uint32_t default_member = kNone;  // seen by what follows, with attend=schema
  std::uint32_t close_item = 0;          // of its kCloseUnion in Layout::items
  Position position = 0;                 // where all members start
  std::uint32_t extent = 0;              // of the longest member
};

// A role element of the schema. Its opening is in the pieces around.
struct SchemaTurn {
  Role role = Role::kUser;
  TurnText text;
  std::uint32_t closing = kNone;  // item of its fresh closing; kNone: cached, or no tokens
  // May a prompt write into it? It may behind the modules in it, and where it
  // is the user's and the schema's last.
  bool open_ended = false;
  bool last = false;  // nothing follows it in the schema
  // White space at its end that the format strips; it stands in front of the text
  // that a prompt writes there.
  std::string tail;
};

// Modules that are encoded together in addition.
struct Scaffold {
  std::string name;
  std::vector<std::uint32_t> modules;  // in document order; every ancestor of one is one
};

// What stands for a module that another one has not seen (attend=slots).
struct StandIn {
  Tokens tokens;                 // never empty
  std::uint32_t module = kNone;  // whose own text it is; kNone: one that the schema declares
};

enum class ItemKind : std::uint8_t {
  kPiece,       // index into pieces
  kSlot,        // index into slots
  kOpenModule,  // index into modules; the root has no items of its own
  kCloseModule,
  kOpenUnion,  // index into unions
  kCloseUnion,
  kOpenTurn,   // index into turns
  kCloseTurn,  // index into turns; its fresh closing is the item behind it
  kBareText,   // text outside of all turns stands here
};

struct Item {
  ItemKind kind = ItemKind::kPiece;
  std::uint32_t index = 0;
};

struct Layout {
  std::string schema;
  Positions positions = Positions::kCompact;
  Attend attend = Attend::kPrefix;
  std::optional<TokenId> bos;  // the root's first token
  std::vector<Item> items;     // document order
  std::vector<Piece> pieces;
  std::vector<Slot> slots;
  std::vector<Module> modules;
  std::vector<Union> unions;
  std::vector<SchemaTurn> turns;
  std::vector<Scaffold> scaffolds;
  // With attend=slots: a module sees as many as it needs, from the first on, and never itself; of
  // stand-ins that are modules at most kOwnStandIns. All have at most kMaxLayoutTokens tokens.
  std::vector<StandIn> stand_ins;
  std::uint32_t extent = 0;                                // schema positions in all
  std::unordered_map<std::string, std::uint32_t> by_path;  // modules but the root

  std::optional<std::uint32_t> find_module(const std::string& path) const {
    const auto it = by_path.find(path);
    return it == by_path.end() ? std::nullopt : std::optional(it->second);
  }
};

}  // namespace pc::pml
