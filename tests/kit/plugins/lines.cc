// Questions and answers from a file, a line each: {"ask": "...", "say": "..."}.
#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

#include <nlohmann/json.hpp>

#include <medley/data/item_stream.h>
#include <medley/data/jsonl_file.h>

using namespace medley;

class Lines final : public ReplyTask {
 public:
  static constexpr TaskSpec kSpec = ReplySpec(
      "lines", "answer as the file does",
      {.text_width = 40,
       .reply_width = 12,
       .options = {PathOption("data", "a JSONL file with \"ask\" and \"say\""),
                   {.name = "held_out", .value = 0, .high = 1e6, .summary = "lines for evaluations"}}});
  explicit Lines(const TaskContext& context)
      : ReplyTask(context, kSpec),
        file_(context.Path("data")),
        stream_(file_.size(), static_cast<std::int64_t>(context.Option("held_out")), kSpec.name) {}

  const ItemStream* Items() const override { return &stream_; }

 private:
  Exchange Draw(Row& row) const override {
    const std::int64_t item = stream_.ItemOf(row.range, row.number);
    const nlohmann::json line = file_.Read(item);
    if (!line.contains("ask") || !line.contains("say"))
      throw InputError(file_.PlaceOf(item) + ": expected \"ask\" and \"say\"");
    return {line["ask"].get<std::string>() + " ", line["say"]};
  }

  JsonlFile file_;
  ItemStream stream_;
};

MEDLEY_PLUGIN(Lines)
