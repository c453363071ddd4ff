// Conversations, and preferences between two replies, from JSONL files: docs/beyond-rows.md.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
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

// Of LLaVA's files and others, which are one list, by the first character that is no blank.
bool IsList(const std::filesystem::path& path) {
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '[';
}

// A line of such a file, or an element, and the folder that what it names is relative to.
struct Line {
  medley::JsonItem json;
  std::filesystem::path folder;
};
class TalkFile {
 public:
  explicit TalkFile(const std::filesystem::path& path)
      : lines_(IsList(path) ? medley::JsonlFile::OfElements(path) : medley::JsonlFile(path)),
        folder_(path.parent_path()) {}

  std::int64_t size() const { return lines_.size(); }
  Line Read(std::int64_t item) const { return {lines_.Read(item), folder_}; }
  auto hashes() const { return lines_.hashes(); }
  std::string PlaceOf(std::int64_t item) const { return lines_.PlaceOf(item); }

 private:
  medley::JsonlFile lines_;
  std::filesystem::path folder_;
};
using Lines = medley::Splits<TalkFile>;

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
  lines.ForEach([&](const TalkFile&, std::int64_t) { ++all; });
  lines.ForEach([&](const TalkFile& file, std::int64_t item) {
    if (wrong == kMostWrong) return;
    medley::HeedInterrupt();
    progress.Say("looking at the conversations of '" + context.Path("data").filename().string() + "'",
                 static_cast<double>(done++), static_cast<double>(all));
    const Line line = file.Read(item);
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
    const TalkFile file(context.Path(option));
    for (std::int64_t item = 0; item < file.size(); ++item) said(file.Read(item).json, texts);
  }
  return texts;
}

class Chat final : public medley::ChatTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::ChatSpec(
      "chat", "answer as the conversations of a file do",
      {.pictures = true,
       .options =
           FileOptions("a JSONL file of \"messages\", or of \"prompt\" and \"completion\"; or a JSON list")});

  static std::vector<std::string> Texts(const medley::TextsContext& context) {
    return TextsIn(context, [](const medley::JsonItem& line, std::vector<std::string>& texts) {
      for (const medley::Turn& turn : TalkOf(line).turns) texts.push_back(turn.text);
    });
  }

  explicit Chat(const medley::TaskContext& context) : ChatTask(context), lines_(Open(context)) {
    CheckAll(lines_, context, [&](const Line& line) {
      const Talk talk = TalkOf(line.json);
      if (const auto problem = chat().format().ProblemOf(talk.turns)) FailOf(line.json, talk, *problem);
      chat().Check(talk.turns);
      for (const medley::NamedFile& picture : talk.pictures) {
        const std::string wrong = medley::FileProblem(line.folder / picture.path);
        if (!wrong.empty()) picture.item.Fail(picture.key, wrong);
      }
      return chat().TooMany(talk.turns);
    });
  }

  const medley::ItemStream* Items() const override { return &lines_.stream(); }

 private:
  medley::Conversation Draw(medley::Row& row) const override { return TalkOf(lines_.Read(row).json).turns; }
  void Show(medley::Row& row, const std::vector<medley::PictureBytes>& pictures) const override {
    const Line line = lines_.Read(row);
    Load(TalkOf(line.json), line.folder, pictures);
  }
  medley::Conversation Question(const medley::JsonItem& line) const override {
    return QuestionOf(line).turns;
  }
  void ShowQuestion(const medley::JsonItem& line, const std::filesystem::path& folder,
                    const std::vector<medley::PictureBytes>& pictures) const override {
    Load(QuestionOf(line), folder, pictures);
  }

  static void Load(const Talk& talk, const std::filesystem::path& folder,
                   const std::vector<medley::PictureBytes>& pictures) {
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const medley::NamedFile& picture = talk.pictures.at(i);
      try {
        pictures[i].Load(folder / picture.path);
      } catch (const medley::InputError& error) {
        picture.item.Fail(picture.key, error.what());
      }
    }
  }

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
             [&](const Line& line) { return medley::TokensOf(chat(), PreferenceOf(line.json)).cut; });
  }

  const medley::ItemStream* Items() const override { return &lines_.stream(); }

 private:
  medley::Preference Draw(medley::Row& row) const override { return PreferenceOf(lines_.Read(row).json); }
  medley::Conversation Question(const medley::JsonItem& line) const override {
    return QuestionOf(line).turns;
  }

  Lines lines_;
};

}  // namespace

MEDLEY_PLUGIN(Chat, Preference)

}  // namespace medley_texts
