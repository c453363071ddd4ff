#pragma once

#include <string>

#include <medley/run/run.h>

namespace medley {

// Where several processes are to train a run: an InputError where one of them was started with something else
// than the first: config, weights, medley, libtorch, tokenizer, model or the build of a plugin. It names what
// and which; the same on all. Before anything is planned.
// `checkpoint`: that it goes on from, "" for none.
void RequireSameStart(const Run& run, const std::string& checkpoint = "");

}  // namespace medley
