<prompt schema="trip-plan">
  <user><trip who="a school class" duration="one day"/><elsewhere place="Ghent"/>Plan our day.</user>
</prompt>
