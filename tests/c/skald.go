// SPDX-License-Identifier: Apache-2.0
//
// The C interface by its header, from Go.
//
// usage: go run skald.go MODEL
package main

/*
#include <stdlib.h>
#include "skald/c/skald.h"
static skald_error new_error(void) { skald_error error = SKALD_INIT(skald_error); return error; }
static skald_sampler greedy(void) { skald_sampler sampler = SKALD_INIT(skald_sampler); return sampler; }
static int64_t forward_one(const skald_model* model, skald_cache* cache, const int32_t* tokens, size_t count,
                           skald_workspace* workspace, const float** row, skald_error* error) {
  const skald_request request = {cache, tokens, count, NULL};
  return skald_forward(model, &request, 1, workspace, row, 1, error);
}
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func check(condition bool, failure *C.skald_error) {
	if !condition {
		panic(C.GoString(&failure.message[0]))
	}
}

func main() {
	failure := C.new_error()
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	model := C.skald_model_open(path, &failure)
	check(model != nil, &failure)
	defer C.skald_model_free(model)
	workspace := C.skald_workspace_create(1, &failure)
	defer C.skald_workspace_free(workspace)
	cache := C.skald_cache_create(model, nil, &failure)
	defer C.skald_cache_free(cache)

	text := C.CString("In the beginning")
	defer C.free(unsafe.Pointer(text))
	ids := make([]C.int32_t, 256)
	count := C.skald_encode(model, text, 16, 1, &ids[0], 256, &failure)
	check(count > 0, &failure)
	next, sampler, row := ids[:count], C.greedy(), (**C.float)(C.malloc(8))
	defer C.free(unsafe.Pointer(row))
	for i := 0; i < 12; i++ {
		check(C.forward_one(model, cache, &next[0], C.size_t(len(next)), workspace, row, &failure) == 1, &failure)
		size := C.skald_cache_size(cache)
		token := C.skald_sample(*row, C.size_t(C.skald_model_vocab_size(model)), &sampler, C.uint64_t(size), &failure)
		check(token >= 0, &failure)
		ids[count] = token
		next = ids[count : count+1]
		count++
	}
	bytes := make([]C.char, 1024)
	length := C.skald_decode(model, &ids[0], C.size_t(count), &bytes[0], 1024, &failure)
	check(length > 16, &failure)
	fmt.Println(C.GoStringN(&bytes[0], C.int(length)))
	wrong := C.CString("no/such/model")
	defer C.free(unsafe.Pointer(wrong))
	if C.skald_model_open(wrong, &failure) != nil || failure.code != C.SKALD_NOT_FOUND {
		panic("a model that is not there was opened")
	}
}
