#pragma once

#include <cstdint>
#include <unordered_map>

#include "data/conversation.h"

namespace medley_volumes {

// What a conversation asks last (see LastTexts), and what is answered: HashItem of their words.
struct LastWords {
  std::uint64_t question = 0, answer = 0;
};
LastWords LastWordsOf(const Conversation& conversation);

// How often training answers each question so: what is had without a look at a scan. Of a question that
// training never asks, the answers to all others.
class TrainingAnswers {
 public:
  void Add(const LastWords& last);
  bool IsMostFrequent(const LastWords& last) const { return To(last.question).most == last.answer; }
  // Of one of the answers that occur.
  double Chance(std::uint64_t question) const { return 1.0 / static_cast<double>(To(question).times.size()); }

 private:
  struct Answers {
    std::unordered_map<std::uint64_t, std::int64_t> times;
    std::uint64_t most = 0;  // of equally frequent ones that which was so first
    std::int64_t most_times = 0;

    void Add(std::uint64_t answer);
  };
  const Answers& To(std::uint64_t question) const;

  std::unordered_map<std::uint64_t, Answers> asked_;
  Answers all_;
};

}  // namespace medley_volumes
