// Conversations about scans of heads: made-up ones, or those of a file; and the model that reads them.
#include <string>
#include <vector>

#include <medley/task/plugin.h>

#include "data/conversing.h"
#include "model/volumes.h"

namespace medley_volumes {

// What a task's texts are: those of made-up conversations, or of its file.
std::vector<std::string> TextsOf(const medley::TextsContext& context) {
  if (context.Path("data").empty()) return ExampleTexts();
  const ConversationFile file(context.Path("data"));
  std::vector<std::string> texts;
  for (std::int64_t item = 0; item < file.size(); ++item) {
    for (const Turn& turn : file.Read(item).turns) {
      for (const Content& content : turn.items) {
        if (const auto* text = std::get_if<std::string>(&content)) texts.push_back(*text);
      }
    }
  }
  return texts;
}

class Single final : public Conversing {
 public:
  static constexpr medley::TaskSpec kSpec =
      ConversationSpec("single", "answer a question about one scan", kSingleChance);
  static std::vector<std::string> Texts(const medley::TextsContext& context) { return TextsOf(context); }
  explicit Single(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context)](medley::Row& row) {
          return SingleExample(row, geometry);
        }) {}
};

class Multimodal final : public Conversing {
 public:
  static constexpr medley::TaskSpec kSpec =
      ConversationSpec("multimodal", "compare scans of several kinds", kMultimodalChance,
                       {{.name = "series",
                         .value = 0.5,
                         .low = 0,
                         .high = 1,
                         .summary = "share of rows with a scan over time"}});
  static std::vector<std::string> Texts(const medley::TextsContext& context) { return TextsOf(context); }
  explicit Multimodal(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context), series = context.Option("series")](
                                medley::Row& row) { return MultimodalExample(row, geometry, series); }) {}
};

class Compare final : public Conversing {
 public:
  static constexpr medley::TaskSpec kSpec =
      ConversationSpec("compare", "say what has changed since earlier scans", kCompareChance,
                       {{.name = "references",
                         .value = 3,
                         .low = 1,
                         .high = kMostScans - 1,
                         .summary = "most earlier scans of a row"},
                        medley::SwitchOption("blank", false, "earlier scans show nothing: a control")});
  static std::vector<std::string> Texts(const medley::TextsContext& context) { return TextsOf(context); }
  explicit Compare(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context),
                             references = static_cast<std::int64_t>(context.Option("references")),
                             blank = context.Switch("blank")](medley::Row& row) {
          return CompareExample(row, geometry, references, blank);
        }) {}
};

MEDLEY_PLUGIN(Single, Multimodal, Compare, Volumes)

}  // namespace medley_volumes
