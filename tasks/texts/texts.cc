// Conversations, and preferences between two replies, from JSONL files: docs/beyond-rows.md.
#include <cstdint>
#include <string>
#include <vector>

#include <medley/base/interrupt.h>
#include <medley/base/work_progress.h>
#include <medley/data/bad_records.h>
#include <medley/data/jsonl_file.h>
#include <medley/data/splits.h>
#include <medley/task/drivers/chat_task.h>
#include <medley/task/drivers/preference_task.h>
#include <medley/task/plugin.h>

#include "talk_lines.h"

namespace medley_texts {
namespace {

using Lines = medley::Splits<medley::JsonlFile>;

constexpr medley::OptionList FileOptions(std::string_view data) {
  return {medley::PathOption("data", data),
          medley::PathOption("validation", "another, for evaluations alone", false),
          {.name = "held_out",
           .value = 0.1,
           .high = 1e6,
           .summary = "lines for evaluations: a share below 1, or so many; 0: those trained on"}};
}

Lines Open(const medley::TaskContext& context) {
  return {context.Path("data"), context.Path("validation"), context.HeldOut("held_out")};
}

// Looks at each line, says all that is wrong with them at once, and how many must be cut. `turns_cut(line)`:
// how many of its turns; it throws what is wrong, with its FILE:LINE or without.
template <typename TurnsCut>
void CheckAll(const Lines& lines, const medley::TaskContext& context, const TurnsCut& turns_cut) {
  constexpr std::int64_t kMostWrong = 1000;  // a line of each is counted from the file's begin
  medley::RecordProblems problems;
  medley::WorkProgress progress;
  std::int64_t cut = 0, wrong = 0, all = 0, done = 0;
  lines.ForEach([&](const medley::JsonlFile&, std::int64_t) { ++all; });
  lines.ForEach([&](const medley::JsonlFile& file, std::int64_t item) {
    if (wrong == kMostWrong) return;
    medley::HeedInterrupt();
    progress.Say("looking at the conversations of '" + context.Path("data").filename().string() + "'",
                 static_cast<double>(done++), static_cast<double>(all));
    const medley::JsonItem line = file.Read(item);
    try {
      if (turns_cut(line) > 0) ++cut;
    } catch (const medley::InputError& error) {
      ++wrong;
      const std::string what = error.what(), place = file.PlaceOf(item);
      problems.Add(what.starts_with(place) ? what : place + ": " + what);
    }
  });
  problems.Throw();
  if (cut > 0)
    context.Say(
        std::to_string(cut) + " of " + std::to_string(all) +
        " conversations are longer than text_width; the oldest turns of each are left out (too_long)");
}

// What is said in the files that a config names, with what the format that any vocabulary can write puts
// around it.
template <typename Said>
std::vector<std::string> TextsIn(const medley::TextsContext& context, const Said& said) {
  std::vector<std::string> texts{"system:", "user:", "assistant:"};
  for (const char* option : {"data", "validation"}) {
    if (context.Path(option).empty()) continue;
    const medley::JsonlFile file(context.Path(option));
    for (std::int64_t item = 0; item < file.size(); ++item) said(file.Read(item), texts);
  }
  return texts;
}

class Chat final : public medley::ChatTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::ChatSpec(
      "chat", "answer as the conversations of a file do",
      {.options = FileOptions("a JSONL file of \"messages\", or of \"prompt\" and \"completion\"")});

  static std::vector<std::string> Texts(const medley::TextsContext& context) {
    return TextsIn(context, [](const medley::JsonItem& line, std::vector<std::string>& texts) {
      for (const medley::Turn& turn : ConversationOf(line)) texts.push_back(turn.text);
    });
  }

  explicit Chat(const medley::TaskContext& context) : ChatTask(context), lines_(Open(context)) {
    CheckAll(lines_, context, [&](const medley::JsonItem& line) {
      const medley::Conversation conversation = ConversationOf(line);
      if (const auto problem = chat().format().ProblemOf(conversation)) FailOf(line, conversation, *problem);
      chat().Check(conversation);
      return chat().TooMany(conversation);
    });
  }

  const medley::ItemStream* Items() const override { return &lines_.stream(); }

 private:
  medley::Conversation Draw(medley::Row& row) const override { return ConversationOf(lines_.Read(row)); }

  Lines lines_;
};

class Preference final : public medley::PreferenceTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::PreferenceSpec(
      "preference", "prefer the better of two replies, as a file has them",
      {.options = FileOptions("a JSONL file of \"prompt\", \"chosen\" and \"rejected\"")});

  static std::vector<std::string> Texts(const medley::TextsContext& context) {
    return TextsIn(context, [](const medley::JsonItem& line, std::vector<std::string>& texts) {
      const medley::Preference preference = PreferenceOf(line);
      for (const medley::Turn& turn : preference.prompt) texts.push_back(turn.text);
      texts.push_back(preference.chosen);
      texts.push_back(preference.rejected);
    });
  }

  explicit Preference(const medley::TaskContext& context) : PreferenceTask(context), lines_(Open(context)) {
    CheckAll(lines_, context,
             [&](const medley::JsonItem& line) { return medley::TokensOf(chat(), PreferenceOf(line)).cut; });
  }

  const medley::ItemStream* Items() const override { return &lines_.stream(); }

 private:
  medley::Preference Draw(medley::Row& row) const override { return PreferenceOf(lines_.Read(row)); }

  Lines lines_;
};

}  // namespace

MEDLEY_PLUGIN(Chat, Preference)

}  // namespace medley_texts
