#include "tools/medley/reply_words.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <utility>

#include <medley/base/printable.h>

namespace medley {
namespace {

constexpr std::string_view kNoCharacter =
    "\xef\xbf\xbd";  // U+FFFD, what a character that is not whole becomes

std::string_view EndName(ReplyEnd end) {
  switch (end) {
    case ReplyEnd::kEnded:
      return "ended";
    case ReplyEnd::kCut:
      return "cut";
    case ReplyEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace

nlohmann::ordered_json DetailsOf(const Reply& reply) {
  nlohmann::ordered_json json;
  if (reply.classes.empty()) {
    json["tokens"] = reply.tokens;
    json["end"] = EndName(reply.end);
  }
  json["log_probability"] = reply.log_probability;
  for (const auto& [name, probability] : reply.classes)
    json["classes"].push_back({{"name", name}, {"probability", probability}});
  return json;
}

void PrintReply(const Reply& reply) {
  if (reply.classes.empty()) {
    std::cout << reply.text << '\n';
    return;
  }
  for (const auto& [name, probability] : reply.classes) {
    std::array<char, 32> percent{};
    std::snprintf(percent.data(), percent.size(), "%6.2f %%  ", 100 * probability);
    std::cout << percent.data() << Printable(name) << '\n';
  }
}

void SayIfCut(const Reply& reply, Console& console) {
  if (!reply.classes.empty()) return;
  const std::size_t count = reply.tokens.size();
  const std::string at = std::to_string(count) + (count == 1 ? " token" : " tokens");
  if (reply.end == ReplyEnd::kCut)
    console.Say("the reply was cut at " + at + "; --tokens says how many it may have");
  if (reply.end == ReplyEnd::kInterrupted) console.Say("interrupted after " + at);
}

void GrowingText::Show(const std::vector<std::int64_t>& tokens) {
  std::string text = tokenizer_.Decode(tokens);
  while (text.ends_with(kNoCharacter)) text.resize(text.size() - kNoCharacter.size());
  if (text.size() <= shown_.size() || !text.starts_with(shown_)) return;
  std::cout << text.substr(shown_.size()) << std::flush;
  shown_ = std::move(text);
}

void GrowingText::Finish(const std::string& text) {
  if (text.starts_with(shown_)) std::cout << text.substr(shown_.size());
  std::cout << std::endl;
  shown_.clear();
}

void TokenSpeed::Add(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    if (reply.classes.empty()) tokens_ += std::ssize(reply.tokens) + (reply.end == ReplyEnd::kEnded ? 1 : 0);
  }
}

void TokenSpeed::Say(Console& console) const {
  if (tokens_ == 0) return;
  const double seconds = SteadySeconds() - begin_;
  std::array<char, 96> words{};
  std::snprintf(words.data(), words.size(), "%lld token%s, %.3g a second", static_cast<long long>(tokens_),
                tokens_ == 1 ? "" : "s", static_cast<double>(tokens_) / std::max(seconds, 1e-9));
  console.Say(words.data());
}

}  // namespace medley
