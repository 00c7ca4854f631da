// SPDX-License-Identifier: Apache-2.0
//
// The program into which two object files with every header of the library are linked. Linking is the test.

int main() { return 0; }
