#include <medley/text/byte_pairs.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include <medley/base/utf8.h>

namespace medley {
namespace {

constexpr std::size_t kCharacters = 0x144;  // the last byte without a character of its own is 0xad: U+0143

bool IsItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// By character: its byte, -1 where it is none's.
std::array<int, kCharacters> Bytes() {
  std::array<int, kCharacters> bytes{};
  bytes.fill(-1);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) bytes.at(IsItself(byte) ? byte : next++) = byte;
  return bytes;
}

// What may be joined: the first of the merges, of equal ones the leftmost.
struct Candidate {
  Candidate(std::int32_t rank, int at, std::int32_t token)
      : order(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(at)), made(token) {}

  int at() const { return static_cast<int>(order & 0xffffffff); }
  friend bool operator>(const Candidate& a, const Candidate& b) { return a.order > b.order; }

  std::uint64_t order;  // the rank, then the place: one comparison, as a long word makes millions
  std::int32_t made;
};

}  // namespace

std::optional<std::string> BytesOfToken(std::string_view token) {
  static const std::array<int, kCharacters> kBytes = Bytes();
  std::string bytes;
  while (!token.empty()) {
    const std::size_t length = Utf8Length(token);
    if (length != 1 && length != 2) return std::nullopt;
    const auto lead = static_cast<unsigned char>(token[0]);
    const std::size_t character =
        length == 1 ? lead : (lead & 0x1fU) << 6 | (static_cast<unsigned char>(token[1]) & 0x3fU);
    if (character >= kCharacters || kBytes.at(character) < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes.at(character)));
    token.remove_prefix(length);
  }
  return bytes;
}

BytePairs::BytePairs(const TokenizerJson& tokenizer)
    : unknown_(tokenizer.unknown), fuse_unknown_(tokenizer.fuse_unknown) {
  bytes_.fill(-1);
  for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) {
    if (!tokenizer.in_model[id]) continue;
    const auto bytes = BytesOfToken(tokenizer.tokens[id]);
    if (!bytes) continue;
    if (bytes->size() == 1)
      bytes_.at(static_cast<unsigned char>(bytes->front())) = static_cast<std::int32_t>(id);
    if (tokenizer.ignore_merges) words_.emplace(*bytes, static_cast<std::int32_t>(id));
  }
  struct Numbered {
    Merge merge;
    std::int32_t rank = 0;
  };
  std::vector<Numbered> merges;
  for (const Merge& merge : tokenizer.merges)
    merges.push_back({merge, static_cast<std::int32_t>(merges.size())});
  // Of two merges of one pair the later one counts.
  std::ranges::sort(merges, [](const Numbered& a, const Numbered& b) {
    return std::tie(a.merge.left, a.merge.right, b.rank) < std::tie(b.merge.left, b.merge.right, a.rank);
  });
  first_.assign(tokenizer.tokens.size() + 1, 0);
  for (const auto& [merge, rank] : merges) {
    results_.push_back({merge.right, merge.made, rank});
    first_[static_cast<std::size_t>(merge.left) + 1] = results_.size();
  }
  for (std::size_t id = 1; id < first_.size(); ++id) first_[id] = std::max(first_[id], first_[id - 1]);
}

const BytePairs::Result* BytePairs::Find(std::int32_t left, std::int32_t right) const {
  const Result* begin = results_.data() + first_[static_cast<std::size_t>(left)];
  const Result* end = results_.data() + first_[static_cast<std::size_t>(left) + 1];
  const Result* found = std::lower_bound(
      begin, end, right, [](const Result& result, std::int32_t id) { return result.right < id; });
  return found != end && found->right == right ? found : nullptr;
}

void BytePairs::Encode(std::string_view word, std::vector<std::int64_t>& ids) const {
  if (const auto whole = words_.find(std::string(word)); whole != words_.end()) {
    ids.push_back(whole->second);
    return;
  }
  std::vector<Symbol> symbols = Symbols(word);
  Join(symbols);
  for (const Symbol& symbol : symbols) {
    if (!symbol.gone) ids.push_back(symbol.id);
  }
}

// A byte that no token spells is left out where there is no token for that.
std::vector<BytePairs::Symbol> BytePairs::Symbols(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  bool was_unknown = false;
  for (const char c : word) {
    const std::int32_t id = bytes_.at(static_cast<unsigned char>(c));
    const bool is_unknown = id < 0;
    if (is_unknown && (!unknown_ || (was_unknown && fuse_unknown_))) continue;
    was_unknown = is_unknown;
    const int at = static_cast<int>(symbols.size());
    symbols.push_back({.id = is_unknown ? *unknown_ : id, .before = at - 1, .behind = at + 1});
  }
  if (!symbols.empty()) symbols.back().behind = -1;
  return symbols;
}

void BytePairs::Join(std::vector<Symbol>& symbols) const {
  const auto symbol = [&](int at) -> Symbol& { return symbols[static_cast<std::size_t>(at)]; };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](int at) {
    if (at < 0 || symbol(at).behind < 0) return;
    if (const Result* result = Find(symbol(at).id, symbol(symbol(at).behind).id))
      candidates.emplace(result->rank, at, result->made);
  };
  for (int at = 0; at < static_cast<int>(symbols.size()); ++at) consider(at);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const int at = best.at();
    Symbol& left = symbol(at);
    if (left.gone || left.behind < 0) continue;
    Symbol& right = symbol(left.behind);
    const Result* result = Find(left.id, right.id);
    if (result == nullptr || result->made != best.made) continue;  // the pair is another one by now
    left.id = best.made;
    left.behind = right.behind;
    right.gone = true;
    if (left.behind >= 0) symbol(left.behind).before = at;
    consider(left.before);
    consider(at);
  }
}

}  // namespace medley
