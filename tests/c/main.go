// SPDX-License-Identifier: Apache-2.0
//
// The C interface from another language, by its header alone: a conversation, and an error.
//
// usage: main MODEL
package main

/*
#cgo LDFLAGS: -lskald_c
#include <stdlib.h>
#include "skald/c/skald.h"
*/
import "C"

import (
	"os"
	"unsafe"
)

func must(code C.skald_code, failure *C.skald_error) {
	if code != C.SKALD_OK {
		println(C.GoString(&failure.message[0]))
		os.Exit(1)
	}
}

func main() {
	var failure C.skald_error
	var model *C.skald_model
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	missing := C.CString("/no such model")
	defer C.free(unsafe.Pointer(missing))
	if C.skald_model_open(missing, nil, &model, &failure) != C.SKALD_NOT_FOUND || failure.sequence != C.SKALD_UNKNOWN {
		println("a model that is not there was opened")
		os.Exit(1)
	}
	must(C.skald_model_open(path, nil, &model, &failure), &failure)
	defer C.skald_model_free(model)

	var options C.skald_conversation_options
	C.skald_conversation_options_init(&options)
	options.max_tokens = 12
	options.threads = 1
	var talk *C.skald_conversation
	must(C.skald_conversation_create(model, &options, &talk, &failure), &failure)
	defer C.skald_conversation_free(talk)
	question := C.CString("Tell me a story.")
	defer C.free(unsafe.Pointer(question))
	must(C.skald_conversation_say(talk, question, 16, nil, nil, &failure), &failure)
	var bytes C.size_t
	answer := C.skald_conversation_answer(talk, &bytes)
	if text := C.GoStringN(answer, C.int(bytes)); len(text) == 0 {
		println("there is no answer")
		os.Exit(1)
	}
}
