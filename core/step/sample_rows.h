#pragma once

#include <ATen/core/Tensor.h>

#include <medley/plugin/plugin_host.h>

namespace medley {

// Samples the rows on the CPU, page-locked where a GPU will copy them; on the account of the data side. On
// any thread, several at once; operations stay on it meanwhile: a data thread must not take the trainer's
// cores, and what is sampled must not depend on whose thread it is.
Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device);
// Samples the same rows on the account of whoever calls, and not locked: to be looked at at once.
Batch SampleAlone(const LoadedTask& task, const RowRange& rows);

// Makes rows that came some other way page-locked where a GPU will copy them; else they are handed back.
Batch ReadyFor(at::Device device, Batch rows);

}  // namespace medley
