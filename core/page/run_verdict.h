#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <medley/eval/score_report.h>

namespace medley {

// What came of a run in a sentence.
struct RunVerdict {
  std::int64_t step = 0;  // after which it was scored last; 0: nothing was
  // See VerdictWords; where nothing was scored, how losses fell: "nothing was scored; loss, from the first
  // tenth of the draws to the last: control 3.2 -> 0.84".
  std::string words;
};

RunVerdict VerdictOn(const LastScores& scores);
// Of its LastScoresOf, or else of its metrics.jsonl. An InputError where one of its files is damaged.
RunVerdict VerdictOf(const std::filesystem::path& run);

}  // namespace medley
