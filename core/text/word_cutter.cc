#include <medley/text/word_cutter.h>

#include <algorithm>

namespace medley {
namespace {

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
  std::reverse(spans.begin(), spans.end());
  bool was_found = false;
  for (const Span& span : spans) {
    if (span.found && !was_found && !merged.empty()) {
      merged.back().begin = span.begin;
    } else {
      merged.push_back(span);
    }
    was_found = span.found;
  }
  std::reverse(merged.begin(), merged.end());
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
