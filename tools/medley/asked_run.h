#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/eval/asker.h>
#include <medley/run/run.h>

namespace medley {

// Who of a run answers, with what.
struct Chosen {
  std::unique_ptr<Asker> asker;
  AskForm form{};
  std::string task{};  // "": the model as it is

  bool is_plain() const { return task.empty(); }
};

// What is asked for.
struct Wanted {
  std::string task{};     // by name; "": the only one of the run that fits the rest, or the model as it is
  bool is_plain = false;  // the model as it is, whatever fits
  bool shows_files = false, converses = false, is_from_file = false;
};
// InputError where nobody fits, or several do.
Chosen ChooseAsked(const Run& run, const Wanted& wanted);

// A question by hand.
struct Said {
  std::string role, text;
  // Absolute, in the order in which they are shown: in front of the words, or each where these hold a literal
  // <image>, with which a line end behind it goes.
  std::vector<std::string> files{};
};
struct HandQuestion {
  std::vector<Said> turns{};         // a user's last; where there are no conversations that one alone
  std::vector<std::string> files{};  // absolute, in the order in which they are shown
  std::optional<std::int64_t> row{};
};
// As a line that those chosen take.
JsonItem LineOf(const HandQuestion& question, const Chosen& chosen);

}  // namespace medley
