// Dates as people write them, in many scripts, to ISO 8601; a file for training, another for validation.
#include <medley/data/jsonl_file.h>
#include <medley/data/splits.h>
#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

using namespace medley;

class DateNorm final : public ReplyTask {
 public:
  static constexpr TaskSpec kSpec =
      ReplySpec("datenorm", "write a date as ISO 8601",
                {.text_width = 64,
                 .reply_width = 14,
                 .options = {PathOption("train", "JSONL with \"text\" and \"iso\""),
                             PathOption("validation", "the same, for evaluations")}});
  explicit DateNorm(const TaskContext& context)
      : ReplyTask(context, kSpec), lines_(context.Path("train"), context.Path("validation")) {}
  const ItemStream* Items() const override { return &lines_.stream(); }

 private:
  Exchange Draw(Row& row) const override {
    const JsonItem line = lines_.Read(row);
    return {line.Text("text") + " →", " " + line.Text("iso")};
  }

  Splits<JsonlFile> lines_;
};

MEDLEY_PLUGIN(DateNorm)
