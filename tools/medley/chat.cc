#include "tools/medley/chat.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/printable.h>
#include <medley/base/random.h>
#include <medley/base/utf8.h>

#include "tools/medley/answer_signal.h"
#include "tools/medley/reply_words.h"

namespace medley {
namespace {

std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class Conversing {
 public:
  Conversing(const Chosen& chosen, const AskSetting& setting, std::string system,
             std::vector<std::string> files, Console& console)
      : chosen_(chosen),
        setting_(setting),
        system_(std::move(system)),
        console_(console),
        waiting_(std::move(files)),
        on_terminal_(::isatty(STDIN_FILENO) != 0) {}

  int Run() {
    const AnswerSignal signal;
    InputLines input;
    if (on_terminal_)
      std::cerr << "/clear forgets what was said, /quit or Ctrl-D ends"
                << (chosen_.form.files.empty() ? "" : ", /image FILE shows the next turn a file")
                << "; Ctrl-C ends an answer\n";
    for (std::string line; Ask(), input.Next(line);) {
      try {
        if (!Take(line)) return static_cast<int>(ExitCode::kDone);
      } catch (const InputError& error) {
        if (!on_terminal_) throw;
        std::cerr << Printable(error.what()) << '\n';
      }
    }
    if (on_terminal_) std::cerr << '\n';
    return static_cast<int>(InterruptAsked() ? ExitCode::kInterrupted : ExitCode::kDone);
  }

 private:
  void Ask() const {
    if (on_terminal_) std::cerr << "> " << std::flush;
  }

  // False where it is the end.
  bool Take(const std::string& whole) {
    const std::string line = Trimmed(whole);
    if (line.empty()) return true;
    if (line == "/quit") return false;
    if (line == "/clear") {
      turns_.clear(), waiting_.clear();
    } else if (line == "/image" || line.starts_with("/image ")) {
      Show(Trimmed(line.substr(std::string("/image").size())));
    } else if (line.starts_with('/')) {
      throw InputError("no such command: " + line.substr(0, line.find(' ')) +
                       "; there are /image FILE, /clear and /quit");
    } else {
      Answer(whole.ends_with('\r') ? whole.substr(0, whole.size() - 1) : whole);
    }
    return true;
  }

  void Show(const std::string& file) {
    if (file.empty()) throw InputError("/image: name a file behind it");
    if (chosen_.form.files.empty())
      throw InputError("/image: '" + chosen_.task + "' is shown nothing with its questions");
    if (const std::string problem = FileProblem(file); !problem.empty())
      throw InputError("/image: " + problem);
    waiting_.push_back(std::filesystem::absolute(file).string());
  }

  // Where it cannot be answered it was not said, and what waited to be shown with it is forgotten.
  void Answer(const std::string& line) {
    if (ValidUtf8(line) != line) throw InputError("the line is not UTF-8; recode it");
    HandQuestion question;
    if (!system_.empty()) question.turns.push_back({"system", system_});
    question.turns.insert(question.turns.end(), turns_.begin(), turns_.end());
    const Said asked{"user", line, std::exchange(waiting_, {})};
    question.turns.push_back(asked);
    const Reply reply = ReplyTo(question);
    turns_.push_back(asked);
    turns_.push_back({"assistant", reply.text});
    ++answers_;
  }

  Reply ReplyTo(const HandQuestion& question) {
    GrowingText growing(*setting_.tokenizer);
    TokenSpeed speed;
    AskSetting setting = setting_;
    if (answers_ > 0) setting.seed = CombineSeeds(setting_.seed, answers_);
    setting.on_token = [&](const Generated& so_far) {
      growing.Show(so_far.tokens[0]);
      return !InterruptAsked();
    };
    std::vector<Reply> replies;
    AskAll(*chosen_.asker, {.lines = {LineOf(question, chosen_)}}, setting, replies);
    growing.Finish(replies[0].text);
    ForgetInterrupt();
    speed.Add(replies);
    speed.Say(console_);
    SayIfCut(replies[0], console_);
    return std::move(replies[0]);
  }

  const Chosen& chosen_;
  const AskSetting& setting_;
  std::string system_;
  Console& console_;
  std::vector<Said> turns_;
  std::vector<std::string> waiting_;  // files of the next turn
  bool on_terminal_;
  std::uint64_t answers_ = 0;
};

}  // namespace

int Chat(const Chosen& chosen, const AskSetting& setting, const std::string& system,
         std::vector<std::string> files, Console& console) {
  return Conversing(chosen, setting, system, std::move(files), console).Run();
}

}  // namespace medley
