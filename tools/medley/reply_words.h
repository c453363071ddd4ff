#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/eval/asker.h>
#include <medley/report/console.h>

namespace medley {

// What is known of a reply beside its words, for --json.
nlohmann::ordered_json DetailsOf(const Reply& reply);

// Prints a reply in words, or a class with the likeliest ones and their probabilities.
void PrintReply(const Reply& reply);
// Says where it was cut, and how.
void SayIfCut(const Reply& reply, Console& console);

// Shows a reply on stdout while it grows, whole characters at a time.
class GrowingText {
 public:
  explicit GrowingText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void Show(const std::vector<std::int64_t>& tokens);
  // What is left of it, and the line's end.
  void Finish(const std::string& text);

 private:
  const Tokenizer& tokenizer_;
  std::string shown_;
};

// How fast tokens came.
class TokenSpeed {
 public:
  void Add(const std::vector<Reply>& replies);
  // "412 tokens, 38.2 a second"; nothing where there were none.
  void Say(Console& console) const;

 private:
  double begin_ = SteadySeconds();
  std::int64_t tokens_ = 0;
};

}  // namespace medley
