#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/config/option_value.h>
#include <medley/data/data_rules.h>
#include <medley/model/model_config.h>
#include <medley/task/answer.h>
#include <medley/task/asking.h>
#include <medley/task/batch.h>
#include <medley/task/pass_context.h>
#include <medley/task/spec.h>
#include <medley/text/tokenizer.h>

namespace medley {

class ItemStream;    // data/item_stream.h
struct ChatStrings;  // text/chat_strings.h

// What a task of a run has around it: what its model declares, of the rest nothing.
struct TaskSurroundings {
  const ModelConfig& model;  // the values of its config file
  const Tokenizer* tokenizer = nullptr;
  std::optional<ImageGeometry> image{};
  const std::vector<std::string>* control_text = nullptr;
  DataRules* rules = nullptr;          // null: nobody keeps them, as they are when a run begins
  std::string task{};                  // its own name
  std::vector<std::string> classes{};  // see TaskContext
  std::string chat{};                  // the run's chat format, a name or a file; "": nobody chose one
};

// What a config set the options of a task's spec to.
struct TaskOptions {
  OptionValues options;  // every option of the spec, with its value

  // The value of an option of that kind; an Error names the spec's options where it has none such.
  double Option(std::string_view name) const;
  bool Switch(std::string_view name) const;
  const std::string& Word(std::string_view name) const;     // or text
  std::filesystem::path Path(std::string_view name) const;  // absolute, or "" where none is given
};

// What a task's texts may depend on: there is no tokenizer yet.
struct TextsContext : TaskOptions {
  std::vector<std::string> control_text{};  // items; none where there is no run, or none in it
};

// What a task is built from. Everything referred to outlives the task.
class TaskContext : public TaskOptions {
 public:
  // `variant`: "default" or one of the spec's; `options`: every option of the spec, with its value.
  TaskContext(const TaskSurroundings& surroundings, std::string variant, OptionValues options)
      : TaskOptions{std::move(options)}, variant(std::move(variant)), surroundings_(surroundings) {}

  std::string variant;

  // The values of the model's config file, by name.
  const ModelConfig& model() const { return surroundings_.model; }
  // An Error, that names the model, where its spec does not declare it.
  const Tokenizer& tokenizer() const;
  const ImageGeometry& image() const;
  const std::vector<std::string>& control_text() const;  // items, at least one
  // The names of its classes by label, as the run keeps them; none of a class that lists none (see below).
  const std::vector<std::string>& Classes() const { return surroundings_.classes; }

  // How much of its items a task over finite data keeps for evaluations, by an option that is a share or a
  // number of items: for Splits and ItemStream. `by_place`: the name that an ItemStream of a count had
  // before, where that was not the task's: runs that began then hold out as they did.
  HeldOutItems HeldOut(std::string_view option, std::string_view by_place = {}) const;
  // The chat format that the option names, else the run's, else plain: for ChatFormat. Of one that lies in a
  // file a run has a copy. InputError where there is none of that name, or the file is none of strings.
  ChatStrings Chat(std::string_view option) const;
  // Whether names of special tokens in texts of somebody's files are text: see FileTexts.
  bool NamesAreText() const;
  // What a user should know of what the task found in its files, once: the session says it when the run
  // begins or goes on, the task's name in front.
  void Say(const std::string& words) const;

 private:
  TaskSurroundings surroundings_;
};

// The sums of the terms that one pass adds to, each a scalar with its graph. A pass may lack a term.
using Sums = std::map<std::string, at::Tensor, std::less<>>;

// Rows that a sheet shows.
inline constexpr std::size_t kSheetRows = 8;

// A further figure to show beside a score.
struct FigureRows {
  std::vector<double> rows{};           // [rows]; NaN: the row does not count in this one
  std::optional<double> low{}, high{};  // where a row's value can be: see ScoreSpec
};

// What an evaluation found, row by row; the host makes means and intervals.
struct Outcomes {
  std::vector<double> score;                             // [rows]
  std::map<std::string, std::vector<double>> trivial{};  // the same figure for answers that need no learning
  std::map<std::string, FigureRows> figures{};
  std::optional<double> chance{};  // what guessing gives, where that hangs on files; else the spec says it
  // What the sheet shows of the first kSheetRows rows: pictures as bytes [n, 3, height, width], undefined
  // where there is none (a task that only looks has its input alone), and [n] lists of what was asked in
  // words.
  at::Tensor input{};
  at::Tensor target{};
  at::Tensor output{};
  std::vector<std::vector<Answer>> answers{};

  // The rows of a figure to append to: of a share, which is from 0 to 1, and of an amount, which is at least
  // 0.
  std::vector<double>& Share(const std::string& figure) {
    return figures.insert({figure, {{}, 0, 1}}).first->second.rows;
  }
  std::vector<double>& Amount(const std::string& figure) {
    return figures.insert({figure, {{}, 0, {}}}).first->second.rows;
  }
};

// Something to learn: an endless stream of rows, the passes that a step over them makes, a score.
// Never sees the optimizer, the weights, its mode or another task, and keeps nothing between calls but what
// CacheBytes counts.
//
// Sample may run on any data thread, several at once; everything else runs on the trainer's thread.
class Task {
 public:
  virtual ~Task();

  // The rows on the CPU: a function of their seed and numbers alone. Pictures are bytes.
  virtual Batch Sample(const RowRange& rows) const = 0;
  // One pass of the spec, by name. Adds up, never averages.
  virtual Sums Run(std::string_view pass, PassContext& context) const = 0;
  // What is true of these rows, held-out ones mostly, in their order. See EvalContext for what it may ask.
  virtual Outcomes Evaluate(EvalContext& context, const RowRange& rows) const = 0;
  // A constant of the spec, on the CPU; called once, when it is first asked for. Without it an Error names
  // the constant: for a task whose spec declares none.
  virtual at::Tensor Constant(std::string_view name) const;
  // The stream whose items the rows of a task over finite data show. Evaluations then show each item once,
  // and where they have more rows, the rows of an item count as one piece of evidence. Null: rows are made up
  // without end.
  virtual const ItemStream* Items() const;
  // The most bytes of the machine's memory that it comes to keep of what it read, which changes no row; a
  // plan counts them where that memory is the budget's. Rows with RowRange::longest, by which is measured
  // what rows take, are to leave it as it is.
  virtual std::int64_t CacheBytes() const;
  // How it is asked what is none of its rows, by people and by medley generate; here it cannot be.
  virtual AskForm Asks() const;
  // An InputError, with the line's place, for a question that is not as it should be, or too long.
  virtual Asked Ask(const Questions& questions) const;
};

// A task class also has
//   static constexpr TaskSpec kSpec{...};
//   explicit ClassName(const TaskContext&);
// and, where it shows words,
//   static std::vector<std::string> Texts();  // all that it may show, for the tokenizer
// or, where they hang on options (a path, say), Texts(const TextsContext&). A class with a public
//   std::vector<std::string> ShownTexts() const;
// in place of both, as the installed drivers have it, is made with a tokenizer that stands in for the one to
// come, and asked. Where its answers are classes that its files name it has
//   static std::vector<std::string> Classes(const TaskOptions&);  // in the order of their labels
// which is asked when a run begins. The run keeps the names (TaskContext::Classes), and a model whose file
// leaves out how many there are (an output [rows, FIELD] that the task asks for) has as many. Operators of
// tensors (`pixels * 255`) are in <medley/task/tensors.h>. The file ends with MEDLEY_PLUGIN(ClassName, ...)
// from <medley/task/plugin.h>.

}  // namespace medley
