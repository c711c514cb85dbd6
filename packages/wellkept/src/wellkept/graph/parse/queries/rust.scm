(function_item) @function
(function_signature_item) @function
(struct_item) @class
(enum_item) @class
(union_item) @class
(trait_item) @interface
(impl_item) @owner
(mod_item body: (_)) @module
(mod_item) @import
(use_declaration) @import
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)
(call_expression function: (generic_function function: (_) @call))
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @call)
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @implements)
(impl_item trait: (generic_type type: (_) @implements))
(trait_item bounds: (trait_bounds (type_identifier) @extends))
(field_declaration) @bind
(parameter pattern: (identifier) type: (_)) @bind
(let_declaration pattern: (identifier)) @bind
