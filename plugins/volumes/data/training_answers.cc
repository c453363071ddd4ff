#include "data/training_answers.h"

#include <string>

#include <medley/data/item_hash.h>

namespace medley_volumes {

LastWords LastWordsOf(const Conversation& conversation) {
  std::string question, answer;
  for (const Turn& turn : conversation.turns) {
    std::string& words = turn.role == Role::kUser ? question : answer;
    words.clear();
    const auto [begin, end] = LastTexts(turn.items);
    for (std::size_t i = begin; i < end; ++i) words += std::get<std::string>(turn.items[i]);
  }
  return {medley::HashItem(question), medley::HashItem(answer)};
}

void TrainingAnswers::Answers::Add(std::uint64_t answer) {
  const std::int64_t now = ++times[answer];
  if (now <= most_times) return;
  most = answer;
  most_times = now;
}

void TrainingAnswers::Add(const LastWords& last) {
  asked_[last.question].Add(last.answer);
  all_.Add(last.answer);
}

const TrainingAnswers::Answers& TrainingAnswers::To(std::uint64_t question) const {
  const auto found = asked_.find(question);
  return found == asked_.end() ? all_ : found->second;
}

}  // namespace medley_volumes
