<prompt schema="code-generation">
  <user><map/><game/><map/>Add a hill.</user>
</prompt>
