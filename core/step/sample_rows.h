#pragma once

#include <ATen/core/Tensor.h>

#include <medley/plugin/plugin_host.h>

namespace medley {

// The rows on the CPU, page-locked where a GPU will copy them; on the account of the data side. On any
// thread, whose operations stay on it meanwhile: a data thread must not take the trainer's cores, and what is
// sampled must not depend on whose thread it is.
Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device);
// The same rows on the account of whoever calls, and not locked: to be looked at at once.
Batch SampleAlone(const LoadedTask& task, const RowRange& rows);

// Rows that were made some other way, page-locked where a GPU will copy them.
Batch ReadyFor(at::Device device, Batch rows);

}  // namespace medley
