#include "python/binding/task.h"

#include <ATen/ops/empty_like.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "python/binding/command.h"
#include "python/binding/glue.h"
#include "python/binding/pass.h"
#include "python/binding/raised.h"
#include "python/binding/tensors.h"

namespace medley::python {
namespace {

// A task that forks and comes back would go on as a second trainer of the same run.
void RequireSameProcess() {
  static const pid_t kOwn = ::getpid();
  if (::getpid() == kOwn) return;
  if (!IsCommand())
    throw Error(
        "this process was forked from the one that opened medley, whose threads are not here. Start "
        "processes "
        "with multiprocessing's spawn");
  constexpr char kWords[] =
      "medley: a task in Python forked, and its child came back into the run; it ends here. Start helpers "
      "with "
      "multiprocessing's spawn\n";
  const ssize_t ignored = ::write(STDERR_FILENO, kWords, sizeof kWords - 1);
  static_cast<void>(ignored);
  ::_exit(1);
}

// In medley's own memory: counted by its allocator, and freed without the GIL.
at::Tensor Own(const at::Tensor& tensor) {
  return at::empty_like(tensor, tensor.options(), at::MemoryFormat::Contiguous).copy_(tensor.detach());
}

at::Tensor ColumnOf(PyObject* value, const std::string& what) {
  const at::Tensor tensor = TensorOf(value, what);
  if (!tensor.device().is_cpu())
    throw Error(what + " lies on " + tensor.device().str() + "; sample makes rows on the CPU");
  if (tensor.scalar_type() == at::kDouble)
    throw Error(what + " is float64, as numpy makes numbers; make it float32: .astype(numpy.float32)");
  return Own(tensor);
}

std::vector<std::int64_t> IntegersOf(PyObject* list) {
  std::vector<std::int64_t> integers;
  ForEachOf(list, [&](PyObject* value) { integers.push_back(Integer(value)); });
  return integers;
}

// (kind, name, ...) as the glue has sorted it.
void AddTo(Batch& batch, PyObject* part) {
  const auto at = [&](Py_ssize_t i) { return PyTuple_GetItem(part, i); };
  const std::string kind = Text(at(0)), name = Text(at(1));
  const std::string what = (kind == "items" ? "items of the term '" : "the column '") + name + "'";
  if (kind == "each") {
    batch.CountEach(name);
  } else if (kind == "items") {
    batch.SetItems(name, Own(TensorOf(at(2), what)));
  } else if (kind == "ragged") {
    batch.AddRagged(name, ColumnOf(at(2), what), IntegersOf(at(3)));
  } else if (kind == "padded") {
    batch.AddPadded(name, ColumnOf(at(2), what), IntegersOf(at(3)), Integer(at(4)), Integer(at(5)));
  } else {
    batch.Add(name, ColumnOf(at(2), what));
  }
}

std::vector<double> NumbersOf(PyObject* value, const std::string& what) {
  const at::Tensor numbers =
      TensorOf(value, what).detach().to(at::kCPU, at::kDouble).contiguous().reshape({-1});
  const double* const first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

std::optional<double> NumberOrNone(PyObject* value) {
  if (value == Py_None) return std::nullopt;
  const double number = PyFloat_AsDouble(value);
  if (PyErr_Occurred() != nullptr) ThrowRaised();
  return number;
}

at::Tensor PictureOrNone(PyObject* value, const std::string& what) {
  return value == Py_None ? at::Tensor() : TensorOf(value, what);
}

Answer AnswerOf(PyObject* given) {
  const Object parts = Checked(PySequence_Tuple(given));
  const auto at = [&](Py_ssize_t i) { return PyTuple_GetItem(parts.get(), i); };
  return {.question = Text(at(0)),
          .reply = Text(at(1)),
          .right = Text(at(2)),
          .is_right = PyObject_IsTrue(at(3)) == 1,
          .is_measured = PyObject_IsTrue(at(4)) == 1};
}

// (score, trivial, figures, chance, input, target, output, answers) of the glue.
Outcomes OutcomesOf(PyObject* made) {
  const auto at = [&](Py_ssize_t i) { return PyTuple_GetItem(made, i); };
  Outcomes outcomes;
  outcomes.score = NumbersOf(at(0), "the score");
  ForEachItem(at(1), [&](PyObject* name, PyObject* rows) {
    outcomes.trivial[Text(name)] = NumbersOf(rows, "the trivial answer '" + Text(name) + "'");
  });
  ForEachItem(at(2), [&](PyObject* name, PyObject* figure) {
    outcomes.figures[Text(name)] = {NumbersOf(PyTuple_GetItem(figure, 0), "the figure '" + Text(name) + "'"),
                                    NumberOrNone(PyTuple_GetItem(figure, 1)),
                                    NumberOrNone(PyTuple_GetItem(figure, 2))};
  });
  outcomes.chance = NumberOrNone(at(3));
  outcomes.input = PictureOrNone(at(4), "the input of the sheet");
  outcomes.target = PictureOrNone(at(5), "the target of the sheet");
  outcomes.output = PictureOrNone(at(6), "the output of the sheet");
  ForEachOf(at(7), [&](PyObject* row) {
    std::vector<Answer>& answers = outcomes.answers.emplace_back();
    ForEachOf(row, [&](PyObject* answer) { answers.push_back(AnswerOf(answer)); });
  });
  return outcomes;
}

}  // namespace

PythonTask::PythonTask(PyObject* made_by, const TaskContext& context) {
  const Gil gil;
  RequireSameProcess();
  auto lent = std::make_unique<LentTaskContext>(context);  // a member would outlive the GIL where this throws
  const Object made = Call(Glue("make"), made_by, lent->get());
  evaluates_ = PyObject_IsTrue(PyTuple_GetItem(made.get(), 1)) == 1;
  task_ = Object::Borrowed(PyTuple_GetItem(made.get(), 0));
  context_ = std::move(lent);
}

PythonTask::~PythonTask() {
  const Gil gil;
  task_ = Object();
  context_.reset();
}

Batch PythonTask::Sample(const RowRange& rows) const {
  const Gil gil;
  const Object range = RowsObject(rows);
  const Object parts = Call(Glue("sample"), task_.get(), range.get());
  RequireSameProcess();
  Batch batch(rows);
  ForEachOf(parts.get(), [&](PyObject* part) { AddTo(batch, part); });
  return batch;
}

Sums PythonTask::Run(std::string_view pass, PassContext& context) const {
  const Gil gil;
  const LentPass lent(context);
  static PyObject* const kRun = Interned("run");
  const Object name = TextObject(pass);
  const Object result(PyObject_CallMethodObjArgs(task_.get(), kRun, name.get(), lent.get(), nullptr));
  RequireSameProcess();
  if (!result) ThrowRaised(&lent.kept());
  if (PyDict_Check(result.get()) == 0)
    throw Error("run(\"" + std::string(pass) + "\", ...) returned no dict; it returns {term: sum}");
  Sums sums;
  ForEachItem(result.get(), [&](PyObject* term, PyObject* sum) {
    sums.emplace(Text(term), TensorOf(sum, "the sum of the term '" + Text(term) + "'"));
  });
  return sums;
}

Outcomes PythonTask::EvaluateByScore(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const Gil gil;
    const LentPass lent(piece);
    const Object scores(PyObject_CallFunctionObjArgs(Glue("score"), task_.get(), lent.get(), nullptr));
    RequireSameProcess();
    if (!scores) ThrowRaised(&lent.kept());
    const std::vector<double> numbers = NumbersOf(scores.get(), "the score");
    outcomes.score.insert(outcomes.score.end(), numbers.begin(), numbers.end());
  });
  return outcomes;
}

Outcomes PythonTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  if (!evaluates_) return EvaluateByScore(context, rows);
  const Gil gil;
  const LentEval lent(context);
  const Object range = RowsObject(rows);
  const Object made(
      PyObject_CallFunctionObjArgs(Glue("evaluate"), task_.get(), lent.get(), range.get(), nullptr));
  RequireSameProcess();
  if (!made) ThrowRaised(&lent.kept());
  return OutcomesOf(made.get());
}

at::Tensor PythonTask::Constant(std::string_view name) const {
  const Gil gil;
  const Object text = TextObject(name);
  const Object made = Call(Glue("constant"), task_.get(), text.get());
  return Own(TensorOf(made.get(), "the constant '" + std::string(name) + "'"));
}

std::int64_t PythonTask::CacheBytes() const {
  const Gil gil;
  return Integer(Call(Glue("cache_bytes"), task_.get()).get());
}

}  // namespace medley::python
