#include <medley/curriculum/condition.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace medley {
namespace {

template <typename Kind>
concept JoinsOthers = requires(const Kind& kind) {
  kind.parts;
};

template <typename Kind>
std::optional<until::Subject> SubjectOf(const Kind& kind) {
  if constexpr (requires { kind.About(); }) {
    return kind.About();
  } else {
    return std::nullopt;
  }
}

template <typename Kind>
bool IsGone(const Kind& kind, const GoneTasks& gone) {
  const auto subject = SubjectOf(kind);
  return subject && gone.count(subject->task) > 0;
}

// Words of the parts that have any.
template <typename Kind, typename Say>
std::string Joined(const Kind& kind, const Say& say) {
  std::string text;
  for (const Condition& part : kind.parts) {
    std::string words = say(part);
    if (words.empty()) continue;
    if (!PartsOf(part).empty()) words = "(" + words + ")";
    text += (text.empty() ? "" : std::string(Kind::kBetween)) + words;
  }
  return text;
}

}  // namespace

std::string until::Exact(double value) { return nlohmann::json(value).dump(); }

std::string until::InThreeDigits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string_view KeyOf(const Condition& condition) {
  return std::visit([](const auto& kind) { return kind.kKey; }, condition.kind);
}

std::span<const Condition> PartsOf(const Condition& condition) {
  return std::visit(
      []<typename Kind>(const Kind& kind) -> std::span<const Condition> {
        if constexpr (JoinsOthers<Kind>) {
          return kind.parts;
        } else {
          return {};
        }
      },
      condition.kind);
}

std::vector<until::Subject> SubjectsOf(const Condition& condition) {
  std::vector<until::Subject> subjects;
  if (auto own = std::visit([](const auto& kind) { return SubjectOf(kind); }, condition.kind))
    subjects.push_back(std::move(*own));
  for (const Condition& part : PartsOf(condition)) {
    for (until::Subject& subject : SubjectsOf(part)) subjects.push_back(std::move(subject));
  }
  return subjects;
}

Verdict Judge(const Condition& condition, const StageCounts& counts, const GoneTasks& gone,
              Measured measured) {
  const auto judge = [&]<typename Kind>(const Kind& kind) {
    if constexpr (JoinsOthers<Kind>) {
      std::size_t holding = 0, waiting = 0;
      for (const Condition& part : kind.parts) {
        const Verdict verdict = Judge(part, counts, gone, measured);
        holding += verdict == Verdict::kHolds ? 1 : 0;
        waiting += verdict == Verdict::kWaits ? 1 : 0;
      }
      if (holding + waiting == 0) return Verdict::kGone;
      return kind.Holds(holding, waiting) ? Verdict::kHolds : Verdict::kWaits;
    } else {
      if (IsGone(kind, gone)) return Verdict::kGone;
      return kind.Holds(counts, measured) ? Verdict::kHolds : Verdict::kWaits;
    }
  };
  return std::visit(judge, condition.kind);
}

std::string WaitsFor(const Condition& condition, const StageCounts& counts, const GoneTasks& gone) {
  const auto say = [&]<typename Kind>(const Kind& kind) {
    if constexpr (JoinsOthers<Kind>) {
      return Joined(kind, [&](const Condition& part) { return WaitsFor(part, counts, gone); });
    } else {
      return IsGone(kind, gone) ? std::string() : kind.WaitsFor(counts);
    }
  };
  return std::visit(say, condition.kind);
}

std::string InWords(const Condition& condition) {
  const auto say = []<typename Kind>(const Kind& kind) {
    if constexpr (JoinsOthers<Kind>) {
      return Joined(kind, InWords);
    } else {
      return kind.Words();
    }
  };
  return std::visit(say, condition.kind);
}

}  // namespace medley
