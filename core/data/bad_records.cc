#include <medley/data/bad_records.h>

#include <utility>

namespace medley {
namespace {

constexpr std::size_t kMostShown = 20;

std::string WordsOf(const std::vector<std::string>& first, std::int64_t count) {
  if (count == 1) return first.front();
  std::string words = std::to_string(count) + " records are not well formed";
  for (const std::string& problem : first) words += "\n  " + problem;
  const std::int64_t rest = count - std::ssize(first);
  if (rest > 0) words += "\n  and " + std::to_string(rest) + " more";
  return words;
}

}  // namespace

BadRecords::BadRecords(std::vector<std::string> first, std::int64_t count)
    : InputError(WordsOf(first, count)), first_(std::move(first)), count_(count) {}
BadRecords::~BadRecords() = default;

void RecordProblems::Add(std::string problem) {
  if (first_.size() < kMostShown) first_.push_back(std::move(problem));
  ++count_;
}

void RecordProblems::Add(const BadRecords& of_a_file) {
  for (const std::string& problem : of_a_file.first()) {
    if (first_.size() < kMostShown) first_.push_back(problem);
  }
  count_ += of_a_file.count();
}

void RecordProblems::Throw() const {
  if (count_ > 0) throw BadRecords(first_, count_);
}

}  // namespace medley
