// Learns from the chats of a file what a teacher holds likely at each token of an answer, not the one token
// that stands there (Hinton et al. 2015). Whose weights the teacher has, references.teacher of the run says.
#include <medley/data/jsonl_file.h>
#include <medley/data/splits.h>
#include <medley/task/drivers/chat_rows.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/row.h>
#include <medley/task/losses.h>
#include <medley/task/plugin.h>
#include <medley/task/tensors.h>
#include <medley/task/text_rows.h>

using namespace medley;

constexpr int kWidth = 128;

class Student final : public Task {
 public:
  static constexpr PassSpec kTeach{.name = "teach",
                                   .text_width = kWidth,
                                   .keeps = {"likely"},
                                   .reference = "teacher",
                                   .text_width_of = "text_width"};
  static constexpr TermSpec kLearn{.name = "learn", .max_items = kWidth, .max_items_of = "text_width"};
  static constexpr TaskSpec kSpec{
      .name = "student",
      .summary = "hold likely what a teacher does",
      .passes = {kTeach, {.name = "learn", .text_width = kWidth, .text_width_of = "text_width"}},
      .terms = {kLearn, {.name = "file", .weight = 0, .max_items = kWidth, .max_items_of = "text_width"}},
      .options = WithChatOptions({PathOption("data", "a JSONL file of \"messages\""),
                                  PathOption("validation", "another, for evaluations alone")},
                                 kWidth),
      .inputs = {"tokens", "lengths", "supervised"},
      .outputs = {"logits"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "agreed", .low = 0, .high = 1}};
  explicit Student(const TaskContext& context)
      : chats_(context), lines_(context.Path("data"), context.Path("validation")) {}
  const ItemStream* Items() const override { return &lines_.stream(); }

  Batch Sample(const RowRange& rows) const override {
    std::vector<ChatTokens> drawn;
    ForEachRow(rows, [&](Row& row) {
      Conversation turns;
      for (const JsonItem& message : lines_.Read(row).Objects("messages")) {
        turns.push_back({message.Word("role", {"system", "user", "assistant"}), message.Text("content")});
        turns.back().learned = turns.back().role == "assistant";
      }
      drawn.push_back(chats_.Tokens(turns, row.longest()));
    });
    Batch batch(rows);
    chats_.AddTo(batch, "", drawn);
    for (const char* term : {"learn", "file"}) batch.SetItems(term, LearnedItems(drawn));
    return batch;
  }

  Sums Run(std::string_view pass, PassContext& context) const override {
    const Batch& batch = context.batch();
    const ModelInputs inputs = ChatRows::Inputs(batch, "");
    const at::Tensor likely =
        context.Forward(inputs, {"logits"}).at("logits").log_softmax(1);  // [items, words]
    // What is handed on has rows first, and one shape whatever rows are beside it.
    const at::Tensor place = FlatPositions(batch.Ragged("learned"), chats_.width());
    if (pass == "teach") {
      const at::Tensor none = at::zeros({batch.size() * chats_.width(), likely.size(1)}, likely.options());
      context.Carry("likely", none.index_copy(0, place, likely).unflatten(0, {batch.size(), chats_.width()}));
      return {};
    }
    const at::Tensor taught = context.Carried("likely").flatten(0, 1).index_select(0, place);
    const at::Tensor said =
        batch.Column("tokens").flatten().index_select(0, inputs.back().tensor).unsqueeze(1);
    return {{"learn", (taught.exp() * (taught - likely)).sum()}, {"file", -likely.gather(1, said).sum()}};
  }

  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& piece) {
      const ModelInputs inputs = ChatRows::Inputs(piece.batch(), "");
      const at::Tensor own = piece.Forward(inputs, {"logits"}).at("logits").argmax(1);
      const at::Tensor its = piece.ForwardOf("teacher", inputs, {"logits"}).at("logits").argmax(1);
      const at::Tensor& row = piece.batch().Ragged("learned").item_row;
      const at::Tensor same = (own == its).to(at::kFloat),
                       none = at::zeros({piece.batch().size()}, same.options());
      AppendRows(outcomes.score, none.index_add(0, row, same) / none.index_add(0, row, at::ones_like(same)));
    });
    return outcomes;
  }

 private:
  ChatRows chats_;
  Splits<JsonlFile> lines_;
};

MEDLEY_PLUGIN(Student)
