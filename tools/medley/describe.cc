#include "tools/medley/describe.h"

#include <iostream>
#include <variant>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

namespace medley {
namespace {

template <typename Items, typename Fn>
std::string Cell(const Items& items, Fn describe) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(describe(item));
  return texts.empty() ? "-" : JoinNames(texts);
}

// "" where every row comes from a file that the spec knows nothing of.
std::string Chance(const TaskInfo& task) {
  bool may_read_files = false, reads_files = false;
  for (const OptionInfo& option : task.options) {
    may_read_files = may_read_files || option.kind == OptionKind::kPath;
    reads_files = reads_files || (option.kind == OptionKind::kPath && option.required);
  }
  const bool holds = task.score.chance_of_any_rows;
  if (!task.score.chance || (reads_files && !holds)) return "";
  const std::string chance = ", chance " + FormatNumber(*task.score.chance);
  return may_read_files && !holds ? chance + " where no file is given" : chance;
}

std::string Score(const TaskInfo& task) {
  const ScoreInfo& score = task.score;
  if (score.name.empty()) return "-";
  std::string text =
      Printable(score.name) + (score.higher_is_better ? ", higher is better" : ", lower is better");
  if (score.low && score.high)
    text += ", from " + FormatNumber(*score.low) + " to " + FormatNumber(*score.high);
  else if (score.low || score.high)
    text += score.low ? ", at least " + FormatNumber(*score.low) : ", at most " + FormatNumber(*score.high);
  return text + Chance(task);
}

// One of a task's lines.
void PrintLine(const std::string& what, const std::string& words) {
  std::cout << Prose("    " + what + std::string(11 - what.size(), ' ') + words) << '\n';
}

// What is not so of every pass, in words.
std::string OfPass(const PassInfo& pass) {
  std::vector<std::string> words;
  if (!pass.carries.empty()) words.push_back("carries " + JoinNames(pass.carries));
  if (!pass.keeps.empty()) words.push_back("keeps " + JoinNames(pass.keeps));
  if (pass.no_gradient) words.emplace_back("without a gradient");
  if (!pass.reference.empty()) words.push_back("of the reference " + pass.reference);
  std::string all;
  for (const std::string& one : words) all += (all.empty() ? " (" : "; ") + one;
  return pass.name + (all.empty() ? "" : Printable(all) + ")");
}

void PrintVariant(const VariantInfo& variant) {
  PrintLine("passes", Cell(variant.passes, OfPass));
  PrintLine("terms", Cell(variant.terms, [](const TermInfo& term) {
              return term.name + " x " + FormatNumber(term.weight);
            }));
}

std::string DefaultOf(const OptionInfo& option) {
  if (option.kind == OptionKind::kPath) return option.required ? "required" : "none";
  return std::visit([](const auto& held) { return JsonText(nlohmann::json(held)); }, option.Default());
}

Table OptionsTable(const TaskInfo& task) {
  Table table({"option", "default", "allowed", ""}, 4);
  table.Breaks("");
  for (const OptionInfo& option : task.options)
    table.Add({option.name, DefaultOf(option),
               option.kind == OptionKind::kPath ? "a path" : Printable(option.Allowed()),
               Printable(option.summary)});
  return table;
}

std::string Shape(const TensorInfo& tensor) {
  return "[" + JoinNames(tensor.dimensions) + "] " + tensor.dtype +
         (tensor.times.empty() ? "" : ", several times");
}

void PrintTensors(const char* what, const std::vector<TensorInfo>& tensors) {
  Table table({what, "", "shape"}, 3);
  table.Spares({"shape"}).Breaks("");
  for (const TensorInfo& tensor : tensors)
    table.Add({tensor.name, Printable(tensor.help), Printable(Shape(tensor))});
  std::cout << '\n' << table.ToText();
}

std::string ValueOf(const FieldInfo& field) {
  if (field.kind == FieldKind::kWord) return field.words.front();
  if (field.kind == FieldKind::kSwitch) return field.value != 0 ? "true" : "false";
  return FormatNumber(field.value);
}

// What it may be: "1 to 8", "above 0 to 1", "round, square".
std::string Allowed(const FieldInfo& field) {
  if (field.kind == FieldKind::kWord) return JoinNames(field.words);
  if (field.kind == FieldKind::kSwitch) return "true, false";
  return (field.above_low ? "above " : "") + FormatNumber(field.low) + " to " + FormatNumber(field.high);
}

}  // namespace

void PrintTask(const TaskInfo& task, const std::string& plugin) {
  std::cout << Prose(task.name + " " + Printable(task.version) +
                     (task.summary.empty() ? "" : ": " + Printable(task.summary)) + "\n");
  PrintVariant(task.variants.front());
  PrintLine("constants", Cell(task.constants, [](const ConstantInfo& constant) {
              return constant.name + " [" + std::to_string(constant.rows) + ", " +
                     std::to_string(constant.width) + "] " + constant.dtype;
            }));
  PrintLine("score", Score(task));
  if (!plugin.empty()) std::cout << "    plugin     " << plugin << '\n';
  for (std::size_t i = 1; i < task.variants.size(); ++i) {
    const VariantInfo& variant = task.variants[i];
    std::cout << Prose("  variant " + variant.name +
                       (variant.summary.empty() ? "" : ": " + Printable(variant.summary)))
              << '\n';
    PrintVariant(variant);
  }
  if (!task.options.empty()) std::cout << '\n' << OptionsTable(task).ToText();
}

void PrintModel(const ModelInfo& model, const std::string& origin) {
  std::cout << Prose(model.name + " " + Printable(model.version) + ": " + Printable(model.summary) + " (" +
                     origin + ")\n");
  Table fields({"field", "default", "allowed", ""}, 4);
  fields.Spares({"allowed"}).Breaks("");
  for (const FieldInfo& field : model.fields)
    fields.Add({field.name, Printable(ValueOf(field)), Printable(Allowed(field)), Printable(field.help)});
  std::cout << '\n' << fields.ToText();
  if (!model.pretrained.group.empty())
    std::cout << Prose(
        "\n" + model.pretrained.group +
        ".pretrained: a Hugging Face folder may give the fields and parameters of this group\n");
  if (!model.tower.empty())
    std::cout << Prose(
        "\n" + model.tower.group +
        ".pretrained: a Hugging Face folder of a CLIP, a SigLIP or a LLaVA may give the fields "
        "and parameters of this group, and the pictures' sizes\n");
  Table sizes({"size", ""}, 2);
  sizes.Breaks("");
  for (const SizeInfo& size : model.sizes) sizes.Add({size.name, Printable(size.help)});
  if (!model.sizes.empty()) std::cout << '\n' << sizes.ToText();
  PrintTensors("input", model.inputs);
  PrintTensors("output", model.outputs);
}

}  // namespace medley
