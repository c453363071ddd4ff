// What the task promises, looked at: its spec against what it does, its gradients in every mode and
// micro-batch, its score before anything was learned.
#include <medley/testing/checks.h>

int main(int, char** arguments) {
  const medley::check::Bench bench(arguments[1], {arguments[2]});
  return medley::check::Report(medley::check::All(bench.Task("@NAME@"), bench.model()));
}
