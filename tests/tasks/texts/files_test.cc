// The plugin texts with people's files.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/item_stream.h>

#include "tests/tasks/texts/talk_testing.h"

namespace medley::tasks {
namespace {

OptionValues OptionsFor(const std::string& task, const std::string& file, const OptionValues& changed) {
  OptionValues options = OptionsOf(*TaskNamed(task).spec);
  options["data"] = file;
  options["text_width"] = 64.0;
  for (const auto& [name, value] : changed) options[name] = value;
  return options;
}

std::unique_ptr<Task> Open(const std::string& task, const std::string& file, const OptionValues& changed = {},
                           DataRules* rules = nullptr) {
  static std::vector<std::unique_ptr<TaskContext>> contexts;
  contexts.push_back(
      std::make_unique<TaskContext>(TalkContext(OptionsFor(task, file, changed), "default", "", rules)));
  return TaskNamed(task).make(*contexts.back());
}

std::string Written(const std::string& text) {
  const std::string file = ::testing::TempDir() + "/talk.jsonl";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::string MistakesIn(const std::string& task, const std::string& text, const OptionValues& changed = {}) {
  try {
    Open(task, Written(text), changed);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr char kGoodChat[] = R"({"prompt": "a", "completion": "b"})",
               kGoodPair[] = R"({"prompt": "a", "chosen": "b", "rejected": "c"})";

struct Broken {
  std::string task, line, words;  // `words` behind FILE:2
  OptionValues options{};
};

const std::vector<Broken>& AllBroken() {
  static const std::vector<Broken> all = {
      {"chat", R"([])", "expected an object"},
      {"chat", R"("a")", "expected an object"},
      {"chat", R"({})", R"(expected "messages", or "prompt" and "completion"; found neither)"},
      {"chat", R"({"messages": 5})", "messages: expected a list"},
      {"chat", R"({"messages": []})", "messages: expected a list that is not empty"},
      {"chat", R"({"messages": ["a"]})", "messages[0]: expected an object"},
      {"chat", R"({"messages": [{"content": "a"}]})", R"(messages[0]: "role" is missing)"},
      {"chat", R"({"messages": [{"role": "user"}]})", R"(messages[0]: "content" is missing)"},
      {"chat", R"({"messages": [{"role": "robot", "content": "a"}]})",
       R"(messages[0].role: expected "user" or "assistant" or "human" or "gpt" or "system", found "robot")"},
      {"chat", R"({"messages": [{"role": 1, "content": "a"}]})", "messages[0].role: expected a text"},
      {"chat", R"({"messages": [{"role": "user", "content": []}]})",
       "messages[0].content: expected a list that is not empty"},
      {"chat", R"({"messages": [{"role": "user", "content": [{"type": "video"}]}]})",
       R"(messages[0].content[0]: expected either "text" or "image")"},
      {"chat", R"({"messages": [{"role": "user", "content": "a", "weight": 0}]})",
       "messages[0].weight: expected role, content, learned or name"},
      {"chat", R"({"images": [{"file": "a.png"}], "messages": [{"role": "user", "content": "a"}]})",
       R"(images[0]: expected "path", the file of a scan or picture)"},
      {"chat", R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt"}]})",
       R"(conversations[1]: "content" is missing)"},
      {"chat", R"({"messages": [{"role": "user", "content": ["a"]}]})",
       "messages[0].content[0]: expected an object"},
      {"chat", R"({"messages": [{"role": "user", "content": null}]})",
       "messages[0].content: expected a text"},
      {"chat", R"({"messages": [{"role": "user", "content": "a"}]})", "nothing of it is learned"},
      {"chat",
       R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "learned": false}]})",
       "nothing of it is learned"},
      {"chat",
       R"({"messages": [{"role": "user", "content": "a", "learned": true}, {"role": "assistant", "content": "b"}]})",
       "messages[0].learned: expected false"},
      {"chat",
       R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "learned": 1}]})",
       "messages[1].learned: expected"},
      {"chat", R"({"messages": [{"role": "assistant", "content": "b"}]})",
       "messages[0].role: expected user, whom an assistant answers, found 'assistant'"},
      {"chat", R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}]})",
       "messages[1].content: expected words to learn, found none"},
      {"chat",
       R"({"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "s"}, {"role": "assistant", "content": "b"}]})",
       "messages[1].role: expected user or assistant, as a system speaks first of all, found 'system'"},
      {"chat",
       R"({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})",
       "messages[1].role: expected assistant, as turns alternate in the chat format 'gemma', found 'user'",
       {{"chat", std::string("gemma")}}},
      {"chat", R"({"messages": [{"role": "user", "content": "a"}], "prompt": "a"})",
       R"(expected either "messages" or "prompt" and "completion", found both)"},
      {"chat", R"({"prompt": "a"})", R"("completion" is missing)"},
      {"chat", R"({"prompt": "", "completion": "b"})", "prompt: expected words, found none"},
      {"chat", R"({"prompt": "a", "completion": ""})", "completion: expected words to learn, found none"},
      {"chat", R"({"prompt": "a", "completion": 7})", "completion: expected a text, found 7"},
      {"chat", R"({"prompt": [{"role": "assistant", "content": "a"}], "completion": "b"})",
       "prompt[0].role: expected user, who is answered, found 'assistant'"},
      {"chat", R"({"prompt": "a", "completion": [{"role": "user", "content": "b"}]})",
       "completion: expected one turn, an assistant's, found a turn of the user"},
      {"chat", R"({"prompt": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "completion": "b"})",
       "68 tokens, text_width is 64"},
      {"chat", "{\"prompt\": \"a\", \"completion\": \"\xff\"}", ""},
      {"chat", R"({"prompt": "a", "completion": "b")", ""},
      {"chat", R"({"prompt": "a", "prompt": "b", "completion": "b"})", ""},
      {"preference", R"({"prompt": "a", "chosen": "b"})", R"("rejected" is missing)"},
      {"preference", R"({"chosen": "b", "rejected": "c"})", R"("prompt" is missing)"},
      {"preference", R"({"prompt": "a", "chosen": "b", "rejected": "b"})",
       "chosen and rejected are the same"},
      {"preference", R"({"prompt": "a", "chosen": "", "rejected": "b"})",
       "chosen: expected words to learn, found none"},
      {"preference", R"({"prompt": "a", "chosen": "b", "rejected": ["c"]})",
       "rejected[0]: expected an object"},
      {"preference",
       R"({"prompt": "a", "chosen": [{"role": "assistant", "content": "b"}, {"role": "user", "content": "b"}], "rejected": "c"})",
       "chosen: expected one turn, an assistant's, found 2 turns"},
      {"preference", R"({"prompt": [], "chosen": "b", "rejected": "c"})",
       "prompt: expected a list that is not empty"},
  };
  return all;
}

TEST(TalkFiles, EachBrokenLineIsNamedWithItsFileAndLine) {
  EXPECT_GE(AllBroken().size(), 30U);
  for (const Broken& broken : AllBroken()) {
    const std::string good = broken.task == "chat" ? kGoodChat : kGoodPair;
    const std::string words =
        MistakesIn(broken.task, good + "\n" + broken.line + "\n" + good + "\n", broken.options);
    EXPECT_NE(words.find("talk.jsonl:2:"), std::string::npos) << broken.line << "\n" << words;
    EXPECT_NE(words.find(broken.words.empty() ? "talk.jsonl:2:" : "talk.jsonl:2: " + broken.words),
              std::string::npos)
        << broken.line << "\n"
        << words;
  }
}

TEST(TalkFiles, AllMistakesAreToldAtOnce) {
  std::string text = std::string(kGoodChat) + "\n", expected;
  for (std::size_t i = 0; i < 5; ++i)
    text += R"({"prompt": "a", "completion": 7})"
            "\n" +
            std::string(kGoodChat) + "\n";
  const std::string words = MistakesIn("chat", text);
  EXPECT_EQ(words.rfind("5 records are not well formed", 0), 0U) << words;
  for (const char* line : {"2", "4", "6", "8", "10"})
    EXPECT_NE(words.find(std::string("talk.jsonl:") + line + ": completion: expected a text, found 7"),
              std::string::npos)
        << words;
}

TEST(TalkFiles, AnEmptyFileAndAMissingOneAreRefused) {
  EXPECT_NE(MistakesIn("chat", "\n\n").find("has no items"), std::string::npos);
  EXPECT_THROW(Open("preference", "/nowhere/talk.jsonl"), InputError);
}

TEST(TalkFiles, MessagesAndPromptsAreTheSameConversation) {
  const auto ids = [](const std::string& line) {
    const auto task = Open("chat", Written(line + "\n"), {{"held_out", 0.0}});
    const at::Tensor values = task->Sample({1, 0, 1}).Ragged("tokens").values;
    return TalkBytes().Decode(
        {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()});
  };
  const std::string text = "user:a<eos>assistant:b<eos>";
  EXPECT_EQ(ids(R"({"prompt": "a", "completion": "b"})"), text);
  EXPECT_EQ(
      ids(R"({"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]})"),
      text);
  EXPECT_EQ(
      ids(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "id": 7})"),
      text);
}

TEST(TalkFiles, HowManyAreCutIsSaid) {
  const std::string long_turn = std::string(40, 'a');
  const std::string line = R"({"messages": [{"role": "user", "content": ")" + long_turn +
                           R"("}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, )"
                           R"({"role": "assistant", "content": "d"}]})";
  DataRules rules;
  const auto task = Open("chat", Written(std::string(kGoodChat) + "\n" + line + "\n"),
                         {{"held_out", 0.0}, {"too_long", std::string("cut")}}, &rules);
  std::string all;
  for (const std::string& words : rules.TakeWords()) all += words + "\n";
  EXPECT_NE(all.find("1 of 2 conversations are longer than text_width"), std::string::npos) << all;
}

TEST(TalkFiles, OneFileServesBothKinds) {
  for (const char* name : {"chat", "preference"}) {
    const auto task = Open(name, MEDLEY_TASK_DATA, {{"held_out", 3.0}, {"text_width", 128.0}});
    EXPECT_GT(task->Items()->size(Split::kHeldOut), 0);
    EXPECT_EQ(task->Items()->size(Split::kTraining) + task->Items()->size(Split::kHeldOut), 12);
    EXPECT_EQ(task->Sample({1, 0, 20}).size(), 20);
    const auto& texts = TaskNamed(name).texts;
    EXPECT_NE(std::ranges::find(texts, "The swan is."), texts.end());
    EXPECT_NE(std::ranges::find(texts, "assistant:"), texts.end());
  }
}

}  // namespace
}  // namespace medley::tasks
