#include <algorithm>
#include <filesystem>
#include <fstream>

#include <medley/text/load_tokenizer.h>
#include <medley/text/tokenizer_trainer.h>

#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

TEST(Texts, TheShippedControlTextHasShortLinesAndNoDoubles) {
  std::ifstream file(MEDLEY_SOURCE_DIR "/configs/texts/control.txt");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    EXPECT_FALSE(line.empty());
    EXPECT_LE(std::count(line.begin(), line.end(), ' '), 20) << line;
    EXPECT_TRUE(lines.insert(line).second) << line;
  }
  EXPECT_GE(lines.size(), 150U);
}

std::vector<std::string> LinesOf(const char* file) {
  std::ifstream stream(std::string(MEDLEY_SOURCE_DIR "/configs/texts/") + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Texts, FitTheirWidthsWithAVocabularyOfOurCorpus) {
  std::vector<std::string> texts = LinesOf("corpus.txt");
  for (const TaskClass& any : AllTasks()) {
    texts.insert(texts.end(), any.texts.begin(), any.texts.end());
  }
  const std::vector<std::string> control = LinesOf("control.txt");
  for (const std::int64_t size : {700, 800, 1000}) {
    const auto file = std::filesystem::temp_directory_path() / "medley_texts_test.vocabulary";
    std::ofstream(file, std::ios::binary) << TrainTokenizer(texts, size);
    const auto tokenizer = LoadTokenizer(file);
    std::filesystem::remove(file);

    for (const std::string& line : control) EXPECT_LE(tokenizer->Encode(line).size(), 24U) << line;
    for (const TaskClass& any : AllTasks()) {
      OptionValues options;
      for (const OptionInfo& option : any.spec->options) options.emplace(option.name, option.Default());
      const auto task = any.make(GameContext(*tokenizer, control, options));
      EXPECT_EQ(task->Sample({1, 0, 3}).size(), 3);
      for (const std::string& text : any.texts) EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
    }
  }
}

}  // namespace
}  // namespace medley::tasks
