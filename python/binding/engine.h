#pragma once

namespace medley::python {

// A backward that C++ asks for runs on core's engine, which forwards to Python's. What a Function or a hook
// of Python's throws there stays raised in the thread, for whatever calls Python next to stumble over: so an
// engine stands between the two that takes it away and throws it in words, with its place.

// Puts it there. After `import torch`, once a process.
void JoinEngines();

}  // namespace medley::python
