#include <medley/text/word_cutter.h>

#include <algorithm>

#include <medley/base/utf8.h>

namespace medley {
namespace {

// Unicode's White_Space.
constexpr std::array<std::string_view, 25> kSpaces = {
    "\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\u0085", "\u00a0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

std::size_t SpacesAtFront(std::string_view text) {
  std::size_t length = 0;
  while (true) {
    const std::string_view rest = text.substr(length);
    const auto* space = std::ranges::find_if(kSpaces, [&](auto known) { return rest.starts_with(known); });
    if (space == kSpaces.end()) return length;
    length += space->size();
  }
}

std::size_t SpacesAtEnd(std::string_view text) {
  std::size_t length = 0;
  while (true) {
    const std::string_view rest = text.substr(0, text.size() - length);
    const auto* space = std::ranges::find_if(kSpaces, [&](auto known) { return rest.ends_with(known); });
    if (space == kSpaces.end()) return length;
    length += space->size();
  }
}

std::string_view LastCharacter(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xc0U) == 0x80U) {
  }
  return text.substr(begin);
}

// Each joins what the package joins, empty places included: they are dropped last.
std::vector<Span> MergedWithPrevious(const std::vector<Span>& spans) {
  std::vector<Span> merged;
  bool was_found = false;
  for (const Span& span : spans) {
    if (span.found && !was_found && !merged.empty()) {
      merged.back().end = span.end;
    } else {
      merged.push_back(span);
    }
    was_found = span.found;
  }
  return merged;
}

std::vector<Span> MergedWithNext(std::vector<Span> spans) {
  std::vector<Span> merged;
  std::ranges::reverse(spans);
  bool was_found = false;
  for (const Span& span : spans) {
    if (span.found && !was_found && !merged.empty()) {
      merged.back().begin = span.begin;
    } else {
      merged.push_back(span);
    }
    was_found = span.found;
  }
  std::ranges::reverse(merged);
  return merged;
}

std::vector<Span> Contiguous(const std::vector<Span>& spans) {
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (!merged.empty() && merged.back().found == span.found) {
      merged.back().end = span.end;
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

std::vector<Span> Split(std::vector<Span> spans, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(spans, [](const Span& span) { return span.found; });
      return spans;
    case SplitBehavior::kIsolated:
      return spans;
    case SplitBehavior::kMergedWithPrevious:
      return MergedWithPrevious(spans);
    case SplitBehavior::kMergedWithNext:
      return MergedWithNext(std::move(spans));
    case SplitBehavior::kContiguous:
      return Contiguous(spans);
  }
  return spans;
}

}  // namespace

AddedTokens::AddedTokens()
    : word_(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])", /*literal=*/false, "added_tokens") {}

void AddedTokens::Add(const AddedToken& token) {
  std::size_t node = 0;
  for (const char c : token.content) {
    const auto [next, is_new] = nodes_[node].next.try_emplace(c, nodes_.size());
    node = next->second;
    if (is_new) nodes_.emplace_back();
  }
  if (node == 0 || nodes_[node].token >= 0) return;
  nodes_[node].token = static_cast<int>(tokens_.size());
  begins_.at(static_cast<unsigned char>(token.content.front())) = true;
  tokens_.push_back(token);
}

int AddedTokens::Longest(std::string_view text) const {
  int longest = -1;
  std::size_t node = 0;
  for (const char c : text) {
    const auto next = nodes_[node].next.find(c);
    if (next == nodes_[node].next.end()) break;
    node = next->second;
    if (nodes_[node].token >= 0) longest = nodes_[node].token;
  }
  return longest;
}

bool AddedTokens::StandsAlone(std::string_view before, std::string_view behind) const {
  return !(!before.empty() && word_.Matches(LastCharacter(before))) &&
         !(!behind.empty() && word_.Matches(behind.substr(0, Utf8Length(behind))));
}

std::vector<AddedTokens::Piece> AddedTokens::Cut(std::string_view text) const {
  std::vector<Piece> pieces;
  std::size_t done = 0;  // where the last token ended, with the spaces that it takes
  for (std::size_t at = 0; at < text.size();) {
    const int number = begins_.at(static_cast<unsigned char>(text[at])) ? Longest(text.substr(at)) : -1;
    if (number < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(number)];
    std::size_t begin = at, end = at + token.content.size();
    at = end;
    if (token.single_word && !StandsAlone(text.substr(0, begin), text.substr(end))) continue;
    if (token.lstrip) begin = std::max(begin - SpacesAtEnd(text.substr(0, begin)), done);
    if (token.rstrip) end += SpacesAtFront(text.substr(end));
    if (done < begin) pieces.push_back({.text = text.substr(done, begin - done)});
    pieces.push_back({.text = text.substr(begin, end - begin), .id = token.id});
    // A token among the spaces that one took is found all the same, as the package does.
    done = end;
  }
  if (done < text.size()) pieces.push_back({.text = text.substr(done)});
  return pieces;
}

WordCutter::WordCutter(const std::vector<SplitStep>& steps, const std::string& file) {
  for (const SplitStep& step : steps) {
    Step& made = steps_.emplace_back(Step{
        .pattern = {}, .behavior = step.behavior, .invert = step.invert, .prefix_space = step.prefix_space});
    if (step.has_pattern) made.pattern.emplace_back(step.pattern, step.literal, file + ": pre_tokenizer");
  }
}

std::vector<Span> WordCutter::Step::Pieces(std::string_view text) const {
  if (pattern.empty()) return {{.begin = 0, .end = text.size()}};
  std::vector<Span> spans = pattern.front().Spans(text);
  if (invert) {
    for (Span& span : spans) span.found = !span.found;
  }
  spans = Split(std::move(spans), behavior);
  std::erase_if(spans, [](const Span& span) { return span.begin == span.end; });
  return spans;
}

}  // namespace medley
