#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/eval/asker.h>
#include <medley/report/picture.h>
#include <medley/run/run.h>

#include "tools/medley/answer_signal.h"
#include "tools/medley/arguments.h"
#include "tools/medley/ask_file.h"
#include "tools/medley/asked_run.h"
#include "tools/medley/chat.h"
#include "tools/medley/output.h"
#include "tools/medley/reply_words.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// What the command line says.
struct Asking {
  fs::path directory, from;
  std::vector<fs::path> images;
  std::string task, system, device;
  std::optional<std::string> prompt;
  std::optional<std::int64_t> row, tokens;
  double temperature = 0, top_p = 1;
  std::uint64_t seed = 0;
  bool is_plain = false, chats = false, as_json = false, raw = false;
  NamedPlugins plugins;
  OutputFileOption out{OutputKind::kPicture};
};

void AddOptions(CLI::App& app, Asking& asking) {
  app.add_option("DIR", asking.directory, "the run's directory")->required();
  CLI::Option* const task =
      app.add_option("--task", asking.task,
                     "who is asked, a task of the run (default: the only one that can be asked so; else the "
                     "model as it is, by words behind pictures)");
  CLI::Option* const plain =
      app.add_flag("--plain", asking.is_plain, "ask the model as it is, whatever its tasks are")
          ->excludes(task);
  CLI::Option* const prompt = app.add_option("--prompt", asking.prompt,
                                             "the question (default: what stands on stdin); names of special "
                                             "tokens are these where no task is asked");
  app.add_option(
         "--image", asking.images,
         "what is shown with it, again for each: a PNG or JPEG picture (of the model's size where no task is "
         "asked and the model has no tower), or a scan or clip that the task takes. A literal <image> in a "
         "conversation's words says where it stands")
      ->allow_extra_args(false);
  CLI::Option* const row = app.add_option("--row", asking.row, "which one of a file of many, from 0")
                               ->check(WholeNumber(0, 1 << 30));
  CLI::Option* const chat =
      app.add_flag("--chat", asking.chats, "hold a conversation, a line a turn: /image FILE, /clear, /quit")
          ->excludes(prompt)
          ->excludes(plain);
  CLI::Option* const system =
      app.add_option("--system", asking.system, "what a conversation begins with")->excludes(plain);
  CLI::Option* const from =
      app.add_option("--from", asking.from,
                     "ask each line of a file, of the task's own form without the answers; or of \"prompt\" "
                     "and \"images\" where no task is asked")
          ->excludes(prompt)
          ->excludes(chat)
          ->excludes(system);
  asking.out.AddTo(app, "--out",
                   "where the picture goes that the model draws; with --from the same lines with \"reply\"");
  from->needs(app.get_option("--out"));
  app.add_option("--tokens", asking.tokens,
                 "most tokens of a reply (default: what a row of the task has room for, 256 at most; of the "
                 "model as it is 16)")
      ->check(WholeNumber(1, 1 << 20));
  app.add_option(
         "--temperature", asking.temperature,
         "above 0, from 0.001 on: tokens are drawn, the likelier the lower it is; 0: each is the likeliest")
      ->capture_default_str();
  app.add_option("--top-p", asking.top_p,
                 "draw one of the likeliest tokens alone, as few as have this much of the probability")
      ->capture_default_str();
  app.add_option("--seed", asking.seed, "of what is drawn; a line of --from has its own by its number")
      ->check(WholeNumber(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  AddJson(app, asking.as_json)
      ->excludes(chat)
      ->description("as a JSON object on stdout; with --from each line gets \"reply_details\" too");
  row->excludes(chat)->excludes(from);
  AddDevice(app, asking.device);
  AddRawWeights(app, asking.raw);
  AddPlugins(app, asking.plugins);
}

// Before the run is read, which takes its time; a run that is not there comes first.
void CheckFiles(Asking& asking) {
  const bool has_file = !asking.from.empty();
  if (has_file) asking.out.Become(OutputKind::kReplies);
  if (asking.out.is_named() && asking.chats)
    throw InputError("--out: a chat writes no file; leave it out, or ask once with --prompt");
  if (asking.out.is_named()) asking.out.Check();
  if (has_file && !asking.images.empty())
    throw InputError("--image: with --from each line names its own; leave it out");
  constexpr double kLeast = 1e-3;  // below, numbers overflow
  if (!(asking.temperature == 0 || (asking.temperature >= kLeast && asking.temperature <= 100)))
    throw InputError("--temperature: expected 0, or 0.001 to 100");
  if (!(asking.top_p > 0 && asking.top_p <= 1)) throw InputError("--top-p: expected more than 0, at most 1");
  if (asking.temperature <= 0 && asking.top_p < 1)
    throw InputError("--top-p: nothing is drawn where the temperature is 0; give --temperature too");
  if (!DirectoryProblem(asking.directory).empty()) return;
  if (const std::string problem = has_file ? FileProblem(asking.from) : ""; !problem.empty())
    throw InputError("--from: " + problem);
  for (const fs::path& image : asking.images) {
    if (const std::string problem = FileProblem(image); !problem.empty())
      throw InputError("--image: " + problem);
  }
}

std::vector<std::string> AbsoluteFiles(const std::vector<fs::path>& files) {
  std::vector<std::string> absolute;
  for (const fs::path& file : files) absolute.push_back(fs::absolute(file).string());
  return absolute;
}

HandQuestion QuestionOf(const Asking& asking, const Chosen& chosen) {
  HandQuestion question{.turns = {}, .files = AbsoluteFiles(asking.images), .row = asking.row};
  if (chosen.form.kind == AnswerKind::kClass) {
    if (asking.prompt)
      throw InputError("--prompt: '" + chosen.task + "' says a class and reads no words; leave it out");
    return question;
  }
  if (asking.row) throw InputError("--row: a file of many is shown to tasks that say classes alone");
  if (!asking.system.empty()) question.turns.push_back({"system", asking.system});
  if (!asking.prompt && ::isatty(STDIN_FILENO) != 0)
    std::cerr << "the question, to its end with Ctrl-D (or name it by --prompt):\n";
  question.turns.push_back({"user", asking.prompt ? *asking.prompt : AllOfInput(), question.files});
  if (question.turns.back().text.empty())
    throw InputError("there is no question; name it by --prompt, or write it to the standard input");
  return question;
}

void PrintJson(const Reply& reply, const Chosen& chosen, const Asking& asking) {
  nlohmann::ordered_json json;
  if (!chosen.is_plain()) json["task"] = chosen.task;
  json["reply"] = reply.text;
  json.update(DetailsOf(reply));
  if (reply.picture) json["picture"] = fs::absolute(asking.out.path()).string();
  std::cout << JsonText(json, 2) << std::endl;
}

// Of one that says a class.
void RequireNoneOfWords(const CLI::App& app, const Chosen& chosen) {
  if (chosen.form.kind != AnswerKind::kClass) return;
  for (const char* option : {"--tokens", "--temperature", "--top-p", "--seed"}) {
    if (app.count(option) > 0)
      throw InputError(std::string(option) + ": '" + chosen.task +
                       "' says a class and no words; leave it out");
  }
}

int AskOnce(const Asking& asking, const Chosen& chosen, AskSetting setting, Console& console) {
  const HandQuestion question = QuestionOf(asking, chosen);
  setting.draws = asking.out.is_named();
  if (setting.draws && !chosen.is_plain())
    throw InputError("--out: '" + chosen.task + "' answers without a picture; leave it out");
  if (setting.draws && question.files.empty())
    throw InputError("--out: a picture is drawn over one that is shown; name that by --image");
  const AnswerSignal signal;
  const bool grows =
      !asking.as_json && chosen.form.kind == AnswerKind::kWords && ::isatty(STDOUT_FILENO) != 0;
  std::optional<GrowingText> growing;
  if (grows) growing.emplace(*setting.tokenizer);
  setting.on_token = [&](const Generated& so_far) {
    if (growing) growing->Show(so_far.tokens[0]);
    return !InterruptAsked();
  };
  std::vector<Reply> replies;
  TokenSpeed speed;
  AskAll(*chosen.asker, {.lines = {LineOf(question, chosen)}}, setting, replies);
  const Reply& reply = replies.at(0);
  if (asking.as_json) {
    PrintJson(reply, chosen, asking);
  } else if (growing) {
    growing->Finish(reply.text);
  } else {
    PrintReply(reply);
  }
  speed.Add(replies);
  speed.Say(console);
  SayIfCut(reply, console);
  if (reply.picture) {
    asking.out.Write(EncodePng(*reply.picture));
    console.Say("wrote " + Printable(asking.out.path()));
  }
  return static_cast<int>(reply.end == ReplyEnd::kInterrupted ? ExitCode::kInterrupted : ExitCode::kDone);
}

}  // namespace

int RunGenerate(int argc, char** argv) {
  CLI::App app(
      "Asks a trained run: prints its reply to a question, or the likeliest classes of a file; holds a "
      "conversation; or answers a file of questions. What is shown with a question, and whether there are "
      "conversations, the run's task says. The model as it is reads pictures and words, and draws a picture.",
      "medley generate");
  Asking asking;
  AddOptions(app, asking);
  if (!ParseArguments(app, argc, argv)) return 0;
  CheckFiles(asking);
  Console console(stderr);
  const SavedWeights kind = asking.raw ? SavedWeights::kTrained : SavedWeights::kAveraged;
  const auto run = OpenTrainedRun(asking.directory, console, asking.device, asking.plugins, {}, kind).run;
  const Chosen chosen = ChooseAsked(*run, {.task = asking.task,
                                           .is_plain = asking.is_plain,
                                           .shows_files = !asking.images.empty(),
                                           .converses = asking.chats || !asking.system.empty(),
                                           .is_from_file = !asking.from.empty()});
  RequireNoneOfWords(app, chosen);
  for (const std::string& words : run->rules->TakeWords()) console.Say(words);  // of its files
  AskSetting setting{.model = *run->model,
                     .device = run->device,
                     .tokenizer = run->tokenizer.get(),
                     .tokens = asking.tokens,
                     .temperature = asking.temperature,
                     .top_p = asking.top_p,
                     .seed = asking.seed,
                     .log_probabilities = asking.as_json};
  if (asking.chats) return Chat(chosen, setting, asking.system, AbsoluteFiles(asking.images), console);
  if (!asking.from.empty()) return AskFile(asking.from, chosen, setting, asking.as_json, asking.out, console);
  return AskOnce(asking, chosen, setting, console);
}

}  // namespace medley
