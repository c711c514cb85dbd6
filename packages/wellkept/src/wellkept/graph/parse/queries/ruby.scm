(class) @class
(module) @module
[(method) (singleton_method)] @function
(call method: (identifier) @_name arguments: (argument_list (string)) (#any-of? @_name "require" "require_relative" "load" "autoload")) @import
(call) @call
(superclass (_) @extends)
(assignment left: [(identifier) (instance_variable)] right: (call)) @bind
(call method: (identifier) arguments: (argument_list [(constant) (scope_resolution)] @implements))
(body_statement (identifier) @call)
