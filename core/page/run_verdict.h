#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace medley {

// What a run's log of steps says of it in a sentence.
struct RunVerdict {
  std::int64_t step = 0;    // after which it was scored last; 0: nothing was
  std::int64_t judged = 0;  // tasks with a score and an answer that needs no learning
  std::int64_t clear = 0;   // of these, see IsClear
  // "4 of 6 tasks are clear of chance and of all that needs no learning (not: position_qa, zoom_gold)"; where
  // nothing was scored, how losses fell: "nothing was scored; loss, from the first tenth of the draws to the
  // last: control 3.2 -> 0.84".
  std::string words;
};

// Of scores that came while it trained, each task's last. Reads metrics.jsonl alone. An InputError where that
// is damaged.
RunVerdict VerdictOf(const std::filesystem::path& run);

}  // namespace medley
