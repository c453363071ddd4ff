#include <medley/task/drivers/chat_task.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/data/item_stream.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kSaidRows = 4096, kCountedRows = 256;
constexpr std::int64_t kMostNew = 128;                       // tokens of a reply that the sheet shows
constexpr std::int64_t kMostLogits = std::int64_t{1} << 25;  // of a forward of an evaluation: 128 MiB

// Rows of the batch, as many as have at most so many learned tokens, or one: fn(these, the first one's
// place).
template <typename Fn>
void ForEachPart(const Batch& batch, std::int64_t most_items, const Fn& fn) {
  const std::vector<std::int64_t>& offsets = batch.Ragged("learned").offsets;
  for (std::int64_t begin = 0; begin < batch.size();) {
    std::int64_t end = begin + 1;
    const auto items = [&](std::int64_t to) {
      return offsets[static_cast<std::size_t>(to)] - offsets[static_cast<std::size_t>(begin)];
    };
    while (end < batch.size() && items(end + 1) <= most_items) ++end;
    fn(batch.Slice(begin, end - begin), begin);
    begin = end;
  }
}

// The turn that a sheet asks for: the last one learned that answers a user; the conversation's size where
// none does.
std::size_t AskedTurn(const Conversation& conversation) {
  for (std::size_t i = conversation.size(); i > 1; --i) {
    if (conversation[i - 1].learned && conversation[i - 2].role == "user") return i - 1;
  }
  return conversation.size();
}

}  // namespace

ChatTask::ChatTask(const TaskContext& context) : tokenizer_(context.tokenizer()), rows_(context) {
  if (rows_.pictures() > 0) picture_size_ = context.image().size, picture_rule_ = context.image().rule;
}

void ChatTask::Show(Row&, const std::vector<PictureBytes>&) const {
  throw Error(
      "the conversations of this task show pictures, and its class does not draw them: override Show");
}

void ChatTask::AddPictures(const RowRange& rows, Batch& batch) const {
  if (rows_.pictures() == 0) return;
  std::vector<PictureColumn> columns;
  for (std::size_t i = 0; i < rows_.pictures(); ++i)
    columns.emplace_back(rows.count, picture_size_, picture_rule_);
  ForEachRow(rows, [&](Row& row) {
    std::vector<PictureBytes> pictures;
    for (const PictureColumn& column : columns) pictures.push_back(column[row.index()]);
    Show(row, pictures);
  });
  for (std::size_t i = 0; i < columns.size(); ++i)
    batch.Add(std::string(kChatPictures[i]), columns[i].tensor());
}

ModelInputs ChatTask::Pictures(EvalPass& piece, std::int64_t begin, std::int64_t count) const {
  ModelInputs inputs;
  for (std::size_t i = 0; i < rows_.pictures(); ++i) {
    const at::Tensor pictures = piece.Image(kChatPictures[i]).tensor;
    inputs.push_back({"images", pictures.narrow(0, begin, count), ""});
  }
  return inputs;
}

ChatTokens ChatTask::TokensOf(Row& row) const {
  try {
    return rows_.Tokens(Draw(row), row.longest());
  } catch (const InputError& error) {
    throw InputError("row " + std::to_string(row.number) + ": " + error.what());
  }
}

Batch ChatTask::Sample(const RowRange& rows) const {
  std::vector<ChatTokens> drawn;
  ForEachRow(rows, [&](Row& row) { drawn.push_back(TokensOf(row)); });
  Batch batch(rows);
  rows_.AddTo(batch, "", drawn);
  AddPictures(rows, batch);
  batch.SetItems("reply", LearnedItems(drawn));
  return batch;
}

Sums ChatTask::Run(std::string_view, PassContext& context) const {
  ModelInputs inputs = ChatRows::Inputs(context.batch(), "");
  for (std::size_t i = 0; i < rows_.pictures(); ++i) inputs.push_back(context.Image(kChatPictures[i]));
  const ModelOutputs outputs = context.Forward(inputs, {"losses"});
  return {{"reply", SumLosses(outputs.at("losses"))}};
}

std::optional<std::int64_t> ChatTask::MostFrequent() const {
  const ItemStream* items = Items();
  if (items == nullptr) return std::nullopt;
  std::map<std::int64_t, std::int64_t> times;
  ForEachRow({.count = std::min(kCountedRows, items->size(Split::kTraining))}, [&](Row& row) {
    const ChatTokens tokens = TokensOf(row);
    for (const std::int64_t place : tokens.learned) ++times[tokens.ids[static_cast<std::size_t>(place)]];
  });
  const auto rarer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::max_element(times, rarer)->first;
}

void ChatTask::Judge(EvalPass& piece, std::optional<std::int64_t> frequent, Outcomes& outcomes) const {
  const std::int64_t most_items =
      std::max<std::int64_t>(kMostLogits / std::max<std::int64_t>(tokenizer_.size(), 1), 1);
  ForEachPart(piece.batch(), most_items, [&](const Batch& part, std::int64_t begin) {
    const ModelInputs texts = ChatRows::Inputs(part, "");
    ModelInputs inputs = Pictures(piece, begin, part.size());
    inputs.insert(inputs.end(), texts.begin(), texts.end());
    const ModelOutputs outputs = piece.Forward(inputs, {"logits"});
    const std::vector<std::int64_t> said = HostValues(outputs.at("logits").argmax(1));
    const std::vector<std::int64_t> right =
        HostValues(part.Column("tokens").flatten().index_select(0, texts.back().tensor));
    const std::vector<std::int64_t>& offsets = part.Ragged("learned").offsets;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      double is_right = 0, is_frequent = 0;
      for (auto i = static_cast<std::size_t>(offsets[row]); i < static_cast<std::size_t>(offsets[row + 1]);
           ++i) {
        is_right += said[i] == right[i] ? 1 : 0;
        is_frequent += frequent == right[i] ? 1 : 0;
      }
      const auto items = static_cast<double>(offsets[row + 1] - offsets[row]);
      outcomes.score.push_back(is_right / items);
      if (frequent) outcomes.trivial["most frequent token"].push_back(is_frequent / items);
    }
  });
}

// Each by itself: how long a reply may be is no matter of the rows beside it.
void ChatTask::ShowReplies(EvalPass& piece, std::size_t first, Sheet& sheet) const {
  const RowRange& rows = piece.batch().rows();
  for (std::int64_t i = 0; i < rows.count && Sheet::Shows(first + static_cast<std::size_t>(i)); ++i) {
    Row row(rows, rows.begin + i);
    Conversation conversation = Draw(row);
    conversation = ChatRows::Without(conversation, rows_.TooMany(conversation));
    const std::size_t turn = AskedTurn(conversation);
    if (turn == conversation.size()) continue;
    const std::string right = conversation[turn].text;
    conversation.resize(turn);
    std::vector<std::int64_t> prompt = rows_.format().Prompt(conversation);
    // As long as can be: room for an evaluation is planned by such rows.
    if (rows.longest) prompt.resize(static_cast<std::size_t>(rows_.width() - 1), prompt.back());
    if (std::ssize(prompt) < rows_.width())
      sheet.Add(first + static_cast<std::size_t>(i), ReplyTo(piece, i, prompt, right));
  }
}

Answer ChatTask::ReplyTo(EvalPass& piece, std::int64_t row, const std::vector<std::int64_t>& prompt,
                         const std::string& right) const {
  const at::Device device = piece.batch().Column("lengths").device();
  const std::int64_t length = std::ssize(prompt), most = std::min(kMostNew, rows_.width() - length);
  // Of the row's pictures those that stand in what is asked, and not behind it.
  Row drawn(piece.batch().rows(), piece.batch().rows().begin + row);
  Conversation conversation = Draw(drawn);
  conversation.resize(AskedTurn(conversation));
  ModelInputs asked = Pictures(piece, row, 1);
  asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(std::min(PicturesIn(conversation), asked.size())),
              asked.end());
  asked.push_back({"tokens", PadRows({prompt}, length, tokenizer_.pad()).to(device), ""});
  asked.push_back({"lengths", IntColumn({length}).to(device), ""});
  const Generated generated = piece.Generate(asked, {.max_new_tokens = most});
  std::vector<std::int64_t> ids = generated.tokens[0], right_ids = tokenizer_.EncodeText(right);
  ids.erase(std::ranges::find(ids, rows_.format().end()), ids.end());
  // Of a longer one as much as there is room for.
  if (std::ssize(right_ids) > most) right_ids.resize(static_cast<std::size_t>(most));
  // Both sides are decoded: a vocabulary need not give back a text as it was.
  const std::string reply = tokenizer_.Decode(ids), expected = tokenizer_.Decode(right_ids);
  return {.question = tokenizer_.Decode(prompt),
          .reply = reply,
          .right = expected,
          .is_right = reply == expected};
}

Outcomes ChatTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  const std::optional<std::int64_t> frequent = MostFrequent();
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const std::size_t first = outcomes.score.size();
    Judge(piece, frequent, outcomes);
    if (Sheet::Shows(first)) ShowReplies(piece, first, sheet);
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

Conversation ChatTask::Question(const JsonItem& line) const { return AskedMessages(line); }

void ChatTask::ShowQuestion(const JsonItem&, const std::filesystem::path&,
                            const std::vector<PictureBytes>&) const {
  throw Error(
      "a question to this task shows pictures, and its class does not draw them: override ShowQuestion");
}

ModelInputs ChatTask::PicturesOf(const Questions& questions, std::size_t pictures) const {
  const std::int64_t rows = std::ssize(questions.lines);
  std::vector<PictureColumn> columns;
  for (std::size_t i = 0; i < pictures; ++i) columns.emplace_back(rows, picture_size_, picture_rule_);
  for (std::int64_t row = 0; row < rows && pictures > 0; ++row) {
    std::vector<PictureBytes> drawn;
    for (const PictureColumn& column : columns) drawn.push_back(column[row]);
    ShowQuestion(questions.lines[static_cast<std::size_t>(row)], questions.folder, drawn);
  }
  ModelInputs inputs;
  for (const PictureColumn& column : columns)
    inputs.push_back({"images", column.tensor().to(at::kFloat).div_(255), ""});
  return inputs;
}

AskForm ChatTask::Asks() const {
  return {.kind = AnswerKind::kWords,
          .talks = true,
          .files = rows_.pictures() > 0 ? "pictures, PNG or JPEG" : ""};
}

Asked ChatTask::Ask(const Questions& questions) const {
  std::vector<Conversation> conversations;
  for (const JsonItem& line : questions.lines) conversations.push_back(Question(line));
  const std::size_t pictures = PicturesIn(conversations.at(0));
  Asked asked = rows_.Ask(std::move(conversations), questions);
  ModelInputs inputs = PicturesOf(questions, pictures);
  inputs.insert(inputs.end(), asked.inputs.begin(), asked.inputs.end());
  asked.inputs = std::move(inputs);
  return asked;
}

std::vector<std::string> ChatTask::ShownTexts() const {
  std::set<std::string> texts;
  ForEachRow({.seed = 0, .begin = 0, .count = kSaidRows},
             [&](Row& row) { texts.insert(rows_.format().Text(Draw(row))); });
  return {texts.begin(), texts.end()};
}

}  // namespace medley
