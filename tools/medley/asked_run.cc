#include "tools/medley/asked_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/plugin/task_host.h>

namespace medley {
namespace {

// The tasks of a run that can be asked, and why others cannot be made.
struct Askable {
  std::vector<std::pair<std::string, AskForm>> tasks;
  std::string broken;
};

Askable AskableTasks(const Run& run) {
  Askable found;
  for (const std::string& name : run.NamedTasks()) {
    try {
      const AskForm form = run.host->Get(run.forms.Own(name)).Asks();
      if (form.kind != AnswerKind::kNone) found.tasks.emplace_back(name, form);
    } catch (const Error& error) {
      found.broken += "\n  " + name + ": " + error.what();
    }
  }
  return found;
}

bool Fits(const AskForm& form, const Wanted& wanted) {
  if (wanted.converses && !form.talks) return false;
  if (wanted.is_from_file) return true;
  if (wanted.shows_files) return !form.files.empty();
  return form.kind == AnswerKind::kWords;
}

Chosen TaskOf(const Run& run, const std::string& name) {
  const LoadedTask& task = run.host->Get(run.forms.Own(name));
  return {.asker = std::make_unique<TaskAsker>(task), .form = task.Asks(), .task = name};
}

std::string NamesOf(const std::vector<std::pair<std::string, AskForm>>& tasks) {
  std::vector<std::string> names;
  for (const auto& [name, form] : tasks) names.push_back(name);
  return JoinNames(names);
}

Chosen NamedTask(const Run& run, const Wanted& wanted) {
  const std::vector<std::string> names = run.NamedTasks();
  if (std::ranges::find(names, wanted.task) == names.end())
    throw InputError("--task: " + NoSuchName("task", wanted.task, names));
  Chosen chosen = TaskOf(run, wanted.task);
  if (chosen.form.kind == AnswerKind::kNone)
    throw InputError("--task " + wanted.task +
                     ": the task has no way to be asked what is none of its rows; medley eval and its sheets "
                     "show what it does");
  if (wanted.converses && !chosen.form.talks)
    throw InputError("--task " + wanted.task + " holds no conversations; leave out --chat and --system");
  if (wanted.shows_files && chosen.form.files.empty())
    throw InputError("--task " + wanted.task + ": nothing is shown with its questions; leave out --image");
  return chosen;
}

std::string WhyNobody(const Run& run, const Wanted& wanted, const Askable& askable) {
  std::string why = "this run has no way to answer: ";
  if (wanted.is_plain) {
    why += "its tasks are not asked (--plain)";
  } else if (askable.tasks.empty()) {
    why += "none of its tasks can be asked what is none of its rows";
  } else {
    why += NamesOf(askable.tasks) + " can be asked, but not so";
    for (const auto& [name, form] : askable.tasks)
      why += "; '" + name + "' is shown " + (form.files.empty() ? "nothing" : form.files) +
             (wanted.converses && !form.talks ? " and holds no conversations" : "");
  }
  if (run.tokenizer == nullptr || wanted.converses)
    why += ", and its model '" + run.model_file->info.name + "' by itself " +
           (run.tokenizer == nullptr ? "reads no words" : "knows no conversations");
  return why + ". medley eval and its sheets show what it does" +
         (askable.broken.empty() ? "" : ". These could not be made:" + askable.broken);
}

// Words alone are a text; else a list of pieces of them and of files.
nlohmann::json ContentOf(const Said& turn) {
  if (turn.files.empty()) return turn.text;
  constexpr std::string_view kMark = "<image>";
  std::vector<std::string> pieces{""};  // between marks
  std::string_view rest = turn.text;
  for (std::size_t at; (at = rest.find(kMark)) != std::string_view::npos;) {
    pieces.back() = rest.substr(0, at);
    rest.remove_prefix(at + kMark.size());
    if (rest.starts_with('\n')) rest.remove_prefix(1);
    pieces.emplace_back();
  }
  pieces.back() = rest;
  const std::size_t marks = pieces.size() - 1;
  if (marks > 0 && marks != turn.files.size())
    throw InputError("the words hold " + std::to_string(marks) + " <image>, and " +
                     std::to_string(turn.files.size()) +
                     " file(s) are shown; expected one for each, or none");
  if (marks == 0) pieces.insert(pieces.begin(), turn.files.size(), "");
  nlohmann::json content = nlohmann::json::array();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].empty()) content.push_back({{"text", pieces[i]}});
    if (i < turn.files.size()) content.push_back({{"image", turn.files[i]}});
  }
  return content;
}

}  // namespace

Chosen ChooseAsked(const Run& run, const Wanted& wanted) {
  if (!wanted.task.empty()) return NamedTask(run, wanted);
  const Askable askable = wanted.is_plain ? Askable() : AskableTasks(run);
  std::vector<std::pair<std::string, AskForm>> fitting;
  for (const auto& [name, form] : askable.tasks) {
    if (Fits(form, wanted)) fitting.emplace_back(name, form);
  }
  if (fitting.size() == 1) return TaskOf(run, fitting[0].first);
  if (fitting.size() > 1)
    throw InputError("several tasks of the run can be asked so: " + NamesOf(fitting) +
                     "; say which one by --task, or --plain for the model as it is");
  const std::optional<ImageGeometry> pictures = run.model_file->Pictures();
  const bool can_be_plain =
      run.tokenizer != nullptr && !wanted.converses && (!wanted.shows_files || pictures);
  if (!can_be_plain) throw InputError(WhyNobody(run, wanted, askable));
  Chosen plain{.asker = std::make_unique<PlainAsker>(*run.tokenizer, pictures)};
  plain.form = plain.asker->form();
  return plain;
}

JsonItem LineOf(const HandQuestion& question, const Chosen& chosen) {
  nlohmann::json line = nlohmann::json::object();
  if (chosen.form.kind == AnswerKind::kClass) {
    if (question.files.size() != 1)
      throw InputError("a question to '" + chosen.task + "' is one file, --image: " + chosen.form.files);
    line["file"] = question.files[0];
    if (question.row) line["row"] = *question.row;
    return {std::move(line), "--image"};
  }
  if (chosen.form.talks) {
    line["messages"] = nlohmann::json::array();
    for (const Said& turn : question.turns)
      line["messages"].push_back({{"role", turn.role}, {"content", ContentOf(turn)}});
    return {std::move(line), "the question"};
  } else {
    line["prompt"] = question.turns.back().text;
  }
  if (!question.files.empty()) line["images"] = question.files;
  return {std::move(line), "the question"};
}

}  // namespace medley
