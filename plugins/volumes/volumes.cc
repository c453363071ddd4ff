// Conversations about scans of heads: made-up ones, or those of a file; and the model that reads them.
#include <cstdint>

#include <medley/task/plugin.h>

#include "data/conversing.h"
#include "model/volumes.h"

namespace medley_volumes {

class Single final : public Conversing {
 public:
  static constexpr medley::TaskSpec kSpec =
      ConversationSpec("single", "answer a question about one head", kSingleChance);
  explicit Single(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context), images = ImagesOf(context, 1)](
                                medley::Row& row) { return SingleExample(row, geometry, images); }) {}
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
  explicit Multimodal(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context), images = ImagesOf(context, 2),
                             series = context.Option("series")](medley::Row& row) {
          return MultimodalExample(row, geometry, series, images);
        }) {}
};

class Compare final : public Conversing {
 public:
  static constexpr medley::TaskSpec kSpec =
      ConversationSpec("compare", "say what has changed since earlier scans", kCompareChance,
                       {{.name = "references",
                         .value = 3,
                         .low = 1,
                         .high = kMostScans - 1,
                         .summary = "most earlier scans of a row, without images"},
                        medley::SwitchOption("blank", false, "earlier scans show nothing: a control")});
  explicit Compare(const medley::TaskContext& context)
      : Conversing(context, [geometry = GeometryOf(context), images = ImagesOf(context, 2),
                             references = static_cast<std::int64_t>(context.Option("references")),
                             blank = context.Switch("blank")](medley::Row& row) {
          return CompareExample(row, geometry, references, blank, images);
        }) {}
};

MEDLEY_PLUGIN(Single, Multimodal, Compare, Volumes)

}  // namespace medley_volumes
