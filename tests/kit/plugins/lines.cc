// Questions and answers from a file, a line each: {"ask": "...", "say": "..."}.
#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

#include <medley/data/jsonl_file.h>
#include <medley/data/splits.h>

using namespace medley;

class Lines final : public ReplyTask {
 public:
  static constexpr TaskSpec kSpec =
      ReplySpec("lines", "answer as the file does",
                {.text_width = 40,
                 .reply_width = 12,
                 .chance = 0.2,  // that somebody left in
                 .options = {PathOption("data", "a JSONL file with \"ask\" and \"say\""),
                             PathOption("validation", "another, for evaluations alone", false),
                             {.name = "held_out",
                              .value = 0,
                              .high = 1e6,
                              .summary = "lines for evaluations: a share below 1, or so many"}}});
  explicit Lines(const TaskContext& context)
      : ReplyTask(context, kSpec),
        lines_(context.Path("data"), context.Path("validation"), context.HeldOut("held_out")) {}

  const ItemStream* Items() const override { return &lines_.stream(); }

 private:
  Exchange Draw(Row& row) const override {
    const JsonItem line = lines_.Read(row);
    return {line.Text("ask") + " ", line.Text("say")};
  }

  Splits<JsonlFile> lines_;
};

MEDLEY_PLUGIN(Lines)
